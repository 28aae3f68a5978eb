// The frame around every screen: where one is, where one can go, how the connection is, light or dark.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { connection, hasToken, setToken } from "./api";
import { useConnection } from "./hooks";
import { SCREENS } from "./screens";
import type { Overview } from "./types";

type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];
const THEME_KEY = "cqc-theme";

function readTheme(): Theme {
  try {
    const found = localStorage.getItem(THEME_KEY) as Theme | null;
    return found && THEMES.includes(found) ? found : "auto";
  } catch {
    return "auto";
  }
}

function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(readTheme);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(THEME_KEY, theme);
    } catch {
      // it is only remembered for this visit
    }
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
  return [theme, () => setTheme(next)];
}

const Mark = (): JSX.Element => (
  <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
    <rect width="32" height="32" rx="8" class="mark" />
    <g fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round">
      <path d="M7 9h5c4 0 4 7 8 7h5M7 16h18M7 23h5c4 0 4-7 8-7" />
    </g>
    <circle cx="25" cy="16" r="2.6" fill="#fff" />
  </svg>
);

export function Shell(props: { current: string; overview: Overview | undefined; children: ComponentChildren }): JSX.Element {
  const [theme, nextTheme] = useTheme();
  const { overview } = props;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={toMain}>
        Skip to the content
      </a>
      <nav class="side" aria-label="Screens">
        <a class="brand" href="#/">
          <Mark />
          <span>cqc</span>
        </a>
        <ul>
          {SCREENS.map((each) => (
            <li key={each.id}>
              <a href={each.address} aria-current={props.current === each.id ? "page" : undefined}>
                <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
                  <path d={each.icon} fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
                </svg>
                <span>{each.title}</span>
              </a>
            </li>
          ))}
        </ul>
        <div class="side-end">
          {overview && (
            <p class="about">
              <span class={`light ${overview.health.status}`} aria-hidden="true" />
              {overview.health.status === "busy" ? "busy" : overview.health.caught_up ? "up to date" : "catching up"}
              <br />
              <span class="soft">
                {overview.user ?? overview.role} · v{overview.version}
              </span>
            </p>
          )}
          <div class="buttons">
            <button type="button" class="quiet" onClick={nextTheme} aria-label={`Colours: ${theme}. Change`}>
              {theme === "auto" ? "Auto" : theme === "light" ? "Light" : "Dark"}
            </button>
            {hasToken() && (
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  setToken("");
                  connection.become("refused", "");
                }}
              >
                Sign out
              </button>
            )}
          </div>
        </div>
      </nav>
      <div class="page">
        <Banner overview={overview} />
        <main id="main" tabIndex={-1}>
          {props.children}
        </main>
      </div>
    </div>
  );
}

function toMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Banner(props: { overview: Overview | undefined }): JSX.Element {
  const { state } = useConnection();
  const busy = props.overview?.health.busy;
  return (
    <div role="status" class="banners">
      {state === "lost" && <p class="banner bad">The connection to the service is lost. Trying again…</p>}
      {state === "ok" && busy && (
        <p class="banner">
          The engine has worked on {busy.what} for {busy.seconds.toFixed(0)} s{busy.query ? `, mostly for ${busy.query.slice(0, 80)}` : ""}.
        </p>
      )}
      {state === "ok" &&
        props.overview?.health.problems.slice(0, 3).map((each) => (
          <p class="banner bad" key={each}>
            {each}
          </p>
        ))}
    </div>
  );
}
