// The address of a server, and the limits for its clients.
#pragma once

#include <cstddef>
#include <string>

namespace hone {

struct HttpOptions {
  std::string host = "127.0.0.1";                  // a numeric IP address, or "localhost"
  int port = 0;                                    // 0: the kernel chooses a free port
  std::string tls_certificate = {}, tls_key = {};  // paths of PEM files; both "": no TLS
  size_t most_body_bytes = 16 << 20;               // a request with a larger body gets status 413
  // Limit of the sum of the bodies of all unanswered requests. A request that would exceed it gets status 503 before
  // its body is read. A value below most_body_bytes counts as most_body_bytes.
  size_t most_open_bytes = 64 << 20;
  // A request with larger headers gets status 431. With HTTP/1 the chunk extensions of a request have the same limit.
  size_t most_header_bytes = 16 << 10;
  // Limit of the bytes of one answer in pieces (WebReply::begin()) that wait for a slow client. If more bytes wait,
  // HTTP/1 closes the client's connection, and HTTP/2 closes only the stream of the answer.
  size_t most_unsent_bytes = 4 << 20;
  // Connections beyond this number are closed at once. Each connection takes a file descriptor: the server raises
  // the process's limit (RLIMIT_NOFILE) as far as it may, and accepts fewer connections if that is not enough.
  size_t most_connections = 1024;
  // Time limits. HTTP/1 closes a connection that exceeds one of them. HTTP/2 closes only the stream of a slow request
  // or of a slow answer. It closes the connection if it is idle, or if the client takes no bytes at all.
  double request_seconds = 30;  // from the first byte of a request to its last
  double idle_seconds = 75;     // between two requests of a connection
  double write_seconds = 30;    // for a client to read the pending bytes of its answer
};

}  // namespace hone
