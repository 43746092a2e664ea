// A read-only Store of the files that another process serves with a PeerServer. Paths are relative to the folder that
// the server serves.
//
//   PeerStore there("host b", "10.0.0.2", 40123, token);
//   HONE_TRY(copy_checkpoint("1-3-of-8/checkpoint-7", there, folder));
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/ranks/connection.h"
#include "base/store/store.h"

namespace hone {

class PeerStore : public Store {
 public:
  // `name` is the name of the other process for messages. The first call that needs the connection opens it.
  PeerStore(std::string name, std::string address, int port, std::string token);

  // Makes a running read and all later reads fail with H0107. Any thread may call it.
  void stop() { stopped_ = true; }

  // Errors: H0101 there is no such file; H0107 the other process cannot be reached in three tries, or the connection
  // was lost twice while one part (at most 64 MiB) of a file was read; and the errors of the other process when it
  // reads the file. If the other process is suspended (SIGSTOP), a read waits until it continues, unless its host no
  // longer answers.
  Result<Info> info(const std::string& path) override;
  Result<std::unique_ptr<Reader>> open(const std::string& path) override;
  // The calls below fail with H0106.
  Result<std::vector<Entry>> list(const std::string& path) override;
  Result<std::unique_ptr<Writer>> create(const std::string& path) override;
  Result<std::unique_ptr<Writer>> append(const std::string& path) override;
  Status rename(const std::string& path, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& path) override;
  Status make_dirs(const std::string& path) override;
  Status remove_unfinished(const std::string& path) override;

 private:
  class RemoteReader;
  Status read_range(const std::string& path, int64_t offset, std::span<std::byte> out);
  Result<Frame> ask(const Json& request);  // sends a request and returns the first answer
  Result<Frame> ask_once(const Json& request);
  Result<Frame> next_frame();
  Status read_piece(const std::string& path, int64_t offset, std::span<std::byte> out);
  Error lost(const std::string& why) const;

  const std::string name_, address_, token_;
  const int port_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // protects connection_
  std::unique_ptr<FrameConnection> connection_;
};

}  // namespace hone
