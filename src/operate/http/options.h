// The address of a server, and the limits for its clients.
#pragma once

#include <cstddef>
#include <string>

namespace hone {

struct HttpOptions {
  std::string host = "127.0.0.1";                  // an address, or "localhost"
  int port = 0;                                    // 0: a free one
  std::string tls_certificate = {}, tls_key = {};  // PEM files; none: no TLS
  size_t most_body_bytes = 16 << 20;               // a larger body gets status 413
  // Bodies of all requests that are not answered yet; a request beyond that gets status 503 before
  // its body is read. At least most_body_bytes.
  size_t most_open_bytes = 64 << 20;
  size_t most_header_bytes = 16 << 10;  // 431; HTTP/1: extensions of chunks too
  size_t most_unsent_bytes = 4 << 20;   // of a slow reader; above this its connection ends
  // Further connections are closed at once. Each connection takes a file descriptor: hone raises
  // the process's limit (RLIMIT_NOFILE) as far as it may, and accepts fewer if that is not enough.
  size_t most_connections = 1024;
  double request_seconds = 30;  // from the first byte of a request to its last
  double idle_seconds = 75;     // between two requests
  double write_seconds = 30;    // for a client to read the pending bytes
  // A connection that exceeds one of these times ends.
};

}  // namespace hone
