#include "base/store/peers/peer_store.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/store/errors.h"
#include "base/store/peers/peer_server.h"

namespace hone {
namespace {

constexpr int kLookMs = 200;  // between two looks at stop()
constexpr int kTries = 3;
constexpr double kPauseSeconds = 0.5;
constexpr FrameLimits kAnswerLimits = {size_t{64} << 10,
                                       static_cast<size_t>(kPeerPieceBytes) + 4096};

Error read_only(const std::string& path) {
  return Error(err::kStoreUnsupported, fmt::format("'{}' is of another process: read only", path));
}

}  // namespace

class PeerStore::RemoteReader : public Reader {
 public:
  RemoteReader(PeerStore& store, std::string path, int64_t bytes)
      : store_(store), path_(std::move(path)), bytes_(bytes) {}
  int64_t bytes() const override { return bytes_; }
  Status read(int64_t offset, std::span<std::byte> out) override {
    return store_.read_range(path_, offset, out);
  }

 private:
  PeerStore& store_;
  std::string path_;
  int64_t bytes_;
};

PeerStore::PeerStore(std::string name, std::string address, int port, std::string token)
    : name_(std::move(name)), address_(std::move(address)), token_(std::move(token)), port_(port) {}

Error PeerStore::lost(const std::string& why) const {
  return Error(err::kNetwork, fmt::format("{} at {}:{}: {}", name_, address_, port_, why))
      .todo(
          "open the ports between the hosts, or name the network interface that joins them in "
          "HONE_RANKS_INTERFACE");
}

Result<Frame> PeerStore::next_frame() {
  for (;;) {
    if (stopped_) return lost("reading was stopped");
    const bool open = connection_->write();
    if (std::optional<Frame> frame = HONE_TRY(connection_->next())) {
      if (text_at(frame->head, "do") != "failed") return std::move(*frame);
      std::optional<Error> error = reported_error(frame->body);
      return error ? std::move(*error) : lost("it failed without an error");
    }
    if (!open) return lost("the connection ended");
    const bool sends = connection_->unsent_bytes() > 0;
    pollfd ready{connection_->fd(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0};
    if (::poll(&ready, 1, kLookMs) > 0 && (ready.revents & ~POLLOUT) != 0 && !connection_->read())
      return lost("the connection ended");
  }
}

Result<Frame> PeerStore::ask_once(const Json& request) {
  if (!connection_) {
    Result<FileDescriptor> socket = connect_to(address_, port_, {.patience_s = 0});
    if (!socket.ok()) return lost("it cannot be reached");
    connection_ = std::make_unique<FrameConnection>(std::move(*socket), kAnswerLimits);
  }
  connection_->queue({request, ""});
  return next_frame();
}

// Repeats what a lost connection cut short.
Result<Frame> PeerStore::ask(const Json& request) {
  for (int tried = 1;; ++tried) {
    Result<Frame> answer = ask_once(request);
    if (answer.ok() || !answer.error().is(err::kNetwork)) return answer;
    connection_.reset();
    if (tried == kTries || stopped_) return answer;
    system_clock().sleep(kPauseSeconds);
  }
}

Result<Store::Info> PeerStore::info(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Frame answer = HONE_TRY(ask({{"do", "info"}, {"token", token_}, {"file", path}}));
  return Info{answer.head.value("exists", Json(false)) == Json(true), false,
              std::max<int64_t>(0, whole_at(answer.head, "bytes"))};
}

Result<std::unique_ptr<Reader>> PeerStore::open(const std::string& path) {
  const Info found = HONE_TRY(info(path));
  if (!found.exists)
    return Error(err::kStoreMissing, fmt::format("{} has no file '{}'", name_, path));
  return std::unique_ptr<Reader>(new RemoteReader(*this, path, found.bytes));
}

Status PeerStore::read_piece(const std::string& path, int64_t offset, std::span<std::byte> out) {
  Result<Frame> answer = ask({{"do", "read"},
                              {"token", token_},
                              {"file", path},
                              {"at", offset},
                              {"bytes", std::ssize(out)}});
  for (;;) {
    if (!answer.ok()) {
      connection_.reset();
      return std::move(answer.error());
    }
    const std::string& bytes = answer->body;
    if (text_at(answer->head, "do") != "bytes" || bytes.empty() || bytes.size() > out.size()) {
      connection_.reset();
      return lost("it answered something else");
    }
    std::memcpy(out.data(), bytes.data(), bytes.size());
    out = out.subspan(bytes.size());
    if (out.empty()) return Ok{};
    answer = next_frame();
  }
}

Status PeerStore::read_range(const std::string& path, int64_t offset, std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  while (!out.empty()) {
    const auto piece = out.first(std::min(out.size(), static_cast<size_t>(kPeerReadBytes)));
    Status done = read_piece(path, offset, piece);
    // A connection that was lost amid the answers.
    if (!done.ok() && done.error().is(err::kNetwork) && !stopped_)
      done = read_piece(path, offset, piece);
    HONE_TRY(std::move(done));
    offset += std::ssize(piece);
    out = out.subspan(piece.size());
  }
  return Ok{};
}

Result<std::vector<Store::Entry>> PeerStore::list(const std::string& path) {
  return read_only(path);
}
Result<std::unique_ptr<Writer>> PeerStore::create(const std::string& path) {
  return read_only(path);
}
Result<std::unique_ptr<Writer>> PeerStore::append(const std::string& path) {
  return read_only(path);
}
Status PeerStore::rename(const std::string& path, const std::string&) { return read_only(path); }
Status PeerStore::remove(const std::string& path) { return read_only(path); }
Status PeerStore::remove_all(const std::string& path) { return read_only(path); }
Status PeerStore::make_dirs(const std::string& path) { return read_only(path); }
Status PeerStore::remove_unfinished(const std::string& path) { return read_only(path); }

}  // namespace hone
