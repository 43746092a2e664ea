// Where a server listens, and what a client may cost it.
#pragma once

#include <cstddef>
#include <string>

namespace hone {

struct HttpOptions {
  std::string host = "127.0.0.1";                  // an address, or "localhost"
  int port = 0;                                    // 0: one that is free
  std::string tls_certificate = {}, tls_key = {};  // PEM files; none: no TLS
  size_t most_body_bytes = 16 << 20;               // more is answered with 413
  // HTTP/2 has many requests on a connection. The bodies that are begun and not whole may take this
  // number times most_body_bytes together (64 MiB by default); a request beyond is answered with 503.
  size_t most_open_bodies = 4;
  size_t most_header_bytes = 16 << 10;  // 431; HTTP/1: of the extensions of chunks too
  size_t most_unsent_bytes = 4 << 20;   // of a client that reads slowly; more ends its connection
  size_t most_connections = 1024;       // more are closed at once
  double request_seconds = 30;          // for a client to send a request, after its first byte
  double idle_seconds = 75;             // between two requests
  double write_seconds = 30;            // for a client to take what is sent
  // What takes longer than these ends the connection.
};

}  // namespace hone
