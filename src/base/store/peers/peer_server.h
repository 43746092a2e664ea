// Serves the files of a folder to the other processes of a run, read-only, on a thread of the server. PeerStore is the
// client. The protocol uses frames (base/ranks/frame.h):
//
//   request  {"do": "info", "token", "file"}                 answer  {"do": "info", "exists", "bytes"}
//   request  {"do": "read", "token", "file", "at", "bytes"}  answers {"do": "bytes"} with at most 1 MiB
//   either   {"do": "failed"} with the line of an error (base/core/error_report.h): H0102 the file is not in the
//            folder, H0105 the range is not in the file, those of the store
//
// The server closes a connection that sends something else or another token.
#pragma once

#include <memory>
#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr int64_t kPeerPieceBytes = int64_t{1} << 20;  // the largest answer
inline constexpr int64_t kPeerReadBytes = int64_t{64} << 20;  // the largest range of a request

class PeerServer {
 public:
  // Serves `folder` to clients that send `token`, until the object is destroyed. `loopback` true: only processes of
  // this host can connect. Errors: H0127 no port can be used, H0123 the token is empty.
  static Result<std::unique_ptr<PeerServer>> open(std::string folder, std::string token,
                                                  bool loopback = false);
  ~PeerServer();  // closes all connections
  PeerServer(const PeerServer&) = delete;
  int port() const;  // the TCP port, which the kernel chose

 private:
  struct Serving;
  explicit PeerServer(std::unique_ptr<Serving> serving);
  std::unique_ptr<Serving> serving_;
};

}  // namespace hone
