import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "/app/", // where functions/console/app.py serves the build
  plugins: [react()],
  build: {
    outDir: "../functions/console/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy takes no data: URLs
    modulePreload: { polyfill: false },
  },
});
