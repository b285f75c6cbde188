# The commands `kafka` and `kwire`, without Java. Build the wheels first:
#   make wheel DIST=deploy/dist && docker build --tag kafka --file deploy/kafka.Dockerfile deploy
FROM python:3.13-slim-bookworm

# The folder has kwire-cli as well, and wheels of kwire with and without the engine: pip takes the one with it.
COPY dist/*.whl /tmp/dist/
RUN pip install --no-cache-dir --find-links /tmp/dist "kwire[cli,exporter,http,security]" \
    && rm -rf /tmp/dist

RUN useradd --create-home --uid 10001 kwire
USER kwire
WORKDIR /home/kwire
ENV PYTHONUNBUFFERED=1

ENTRYPOINT ["kafka"]
CMD ["--help"]
