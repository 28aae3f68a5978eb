// Builds the console into the package of the service, flat and under fixed names, with the hash of what it was built from
// (a test compares that with the sources) and the licences of the packages inside.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";

const HERE = import.meta.dirname;

function sources() {
  const own = readdirSync(join(HERE, "src"), { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath ?? each.path, each.name).slice(HERE.length + 1));
  return [...own, "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.js"].sort();
}

export function hashOfSources() {
  const hash = createHash("sha256");
  for (const path of sources()) {
    hash.update(path).update("\0").update(readFileSync(join(HERE, path))).update("\0");
  }
  return hash.digest("hex");
}

function licences(modules) {
  const names = new Set();
  for (const id of modules) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id);
    if (found) names.add(found[1]);
  }
  const parts = [...names].sort().map((name) => {
    const folder = join(HERE, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = ["LICENSE", "LICENSE.md", "license", "LICENSE.txt"].find((each) => existsSync(join(folder, each)));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : `Licence: ${about.license}`;
    return `${name} ${about.version}\n\n${text}\n`;
  });
  return `The console holds parts of these packages.\n\n${parts.join("\n" + "-".repeat(80) + "\n\n")}`;
}

function record() {
  const seen = new Set();
  return {
    name: "record",
    generateBundle(_, bundle) {
      for (const each of Object.values(bundle)) {
        for (const id of Object.keys(each.modules ?? {})) seen.add(id);
      }
      this.emitFile({ type: "asset", fileName: "assets/licences.txt", source: licences(seen) });
      this.emitFile({ type: "asset", fileName: "assets/source.sha256", source: hashOfSources() + "\n" });
    },
  };
}

export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [record()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 800,
    rollupOptions: {
      output: {
        entryFileNames: "assets/console.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
        manualChunks: (id) => (/codemirror|lezer|style-mod|w3c-keyname|crelt/.test(id) ? "editor" : /dagre/.test(id) ? "layout" : undefined),
      },
    },
  },
});
