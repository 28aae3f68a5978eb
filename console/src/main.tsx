// The console begins here: which screen the address asks for, and a token where the service wants one.

import { render, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, connection, setToken } from "./api";
import { useAsked, useConnection, usePlace } from "./hooks";
import { SCREENS } from "./screens";
import { QueryScreen } from "./screens/query";
import { Shell } from "./shell";
import "./style.css";
import type { Overview } from "./types";
import { Empty } from "./widgets";

const EVERY_MS = 2000;

function App(): JSX.Element {
  const place = usePlace();
  const { state } = useConnection();
  const asked = useAsked<Overview>(state === "refused" ? null : "overview?history=true", EVERY_MS);
  const [first = "", second] = place.parts;
  useEffect(() => scrollTo(0, 0), [first, second]);
  if (state === "refused") return <SignIn />;
  if (first === "query" && second !== undefined) {
    return (
      <Shell current="queries" overview={asked.data}>
        <QueryScreen key={second} name={second} overview={asked.data} />
      </Shell>
    );
  }
  const screen = SCREENS.find((each) => each.id === first);
  return (
    <Shell current={first} overview={asked.data}>
      {screen ? (
        <screen.show place={place} overview={asked.data} />
      ) : (
        <Empty title="There is no such screen">
          <a href="#/">Go to the overview</a>
        </Empty>
      )}
    </Shell>
  );
}

function SignIn(): JSX.Element {
  const [given, setGiven] = useState("");
  const [problem, setProblem] = useState(connection.reason);
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = "Sign in · cqc";
    input.current?.focus();
  }, []);
  const enter = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setToken(given.trim());
    try {
      await ask<Overview>("overview");
      connection.become("ok");
    } catch (error) {
      setToken("");
      setProblem(connection.state === "lost" ? "There is no connection to the service." : connection.reason || (error as Error).message);
      connection.become("refused", "");
      input.current?.focus();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={enter}>
        <h1>cqc console</h1>
        <p class="soft">This service wants a token: an admin's, a user's or a reader's.</p>
        <label for="token">Token</label>
        <input
          id="token"
          ref={input}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
          aria-describedby={problem ? "token-problem" : undefined}
          aria-invalid={problem ? true : undefined}
        />
        {problem && (
          <p class="problem" id="token-problem" role="alert">
            {problem}
          </p>
        )}
        <button class="main" type="submit" disabled={isBusy || !given.trim()}>
          Continue
        </button>
        <p class="soft small">It is kept for this tab and goes to this service only.</p>
      </form>
    </main>
  );
}

const home = document.getElementById("app");
if (home) render(<App />, home);
