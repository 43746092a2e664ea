// Serves the files of a folder to the other processes of a run, read only. One thread of its own.
//
//   request  {"do": "info", "token", "file"}                 answer  {"do": "info", "exists", "bytes"}
//   request  {"do": "read", "token", "file", "at", "bytes"}  answers {"do": "bytes"} with at most 1 MiB
//   either   {"do": "failed"} with the line of an error (base/core/error_report.h): H0102 the file is not in the
//            folder, H0105 the range is not in the file, those of the store
//
// A connection whose bytes are not such a request, or have another token, is closed.
#pragma once

#include <memory>
#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr int64_t kPeerPieceBytes = int64_t{1} << 20;  // of an answer
inline constexpr int64_t kPeerReadBytes = int64_t{64} << 20;  // the most of a request

class PeerServer {
 public:
  // `loopback`: for processes of this host alone. Errors: H0127, H0123 the token is empty.
  static Result<std::unique_ptr<PeerServer>> open(std::string folder, std::string token,
                                                  bool loopback = false);
  ~PeerServer();  // ends all connections
  PeerServer(const PeerServer&) = delete;
  int port() const;

 private:
  struct Serving;
  explicit PeerServer(std::unique_ptr<Serving> serving);
  std::unique_ptr<Serving> serving_;
};

}  // namespace hone
