// Serves the files of a folder, read-only, to the other processes of a run. A thread of the server does the work.
// PeerStore is the client. The protocol uses frames (base/ranks/frame.h). The braces show the members of a frame's
// head:
//
//   request  {"do": "info", "token", "file"}                 one answer  {"do": "info", "exists", "bytes"}
//   request  {"do": "read", "token", "file", "at", "bytes"}  answers     {"do": "bytes"}
//
// An "info" answer says whether the path is a file ("exists"; false for a folder), and its size. A "read" request asks
// for the range ["at", "at" + "bytes") of the file. The range comes in several answers, in order; the body of each has
// 1 byte to 1 MiB of the range. An empty range has no answer. If a request fails, the next answer has the head {"do":
// "failed"}, and the line of the error (base/core/error_report.h) as its body. Errors: H0102 the path leads out of the
// folder, H0105 the range is not in the file or is longer than kPeerReadBytes, and those of the store.
//
// The server closes a connection that sends another kind of request or a wrong token, and a connection without a
// request in its first 10 s.
#pragma once

#include <memory>
#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr int64_t kPeerPieceBytes = int64_t{1} << 20;  // the largest body of an answer
inline constexpr int64_t kPeerReadBytes = int64_t{64}
                                          << 20;  // the longest range of a "read" request

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
