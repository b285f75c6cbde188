#!/bin/sh
# Draws docs/diagrams/*.mmd as SVG, so that the site needs no script from another host. Needs Node.js and Chromium.
set -eu
cd "$(dirname "$0")/.."
chromium=$(command -v chromium-headless-shell || command -v chromium || command -v google-chrome)
export PUPPETEER_SKIP_DOWNLOAD=1
npm install --silent --prefix target/mermaid @mermaid-js/mermaid-cli
printf '{ "executablePath": "%s", "args": ["--no-sandbox"] }' "$chromium" >target/mermaid/chromium.json
for source in docs/diagrams/*.mmd; do
    drawing=${source%.mmd}
    target/mermaid/node_modules/.bin/mmdc --quiet --puppeteerConfigFile target/mermaid/chromium.json \
        --configFile docs/diagrams/mermaid.json --backgroundColor white --svgId "$(basename "$drawing")" \
        --input "$source" --output "$drawing.svg"
done
