#include "operate/reporters/live_file.h"

#include <chrono>

#include "base/core/clock.h"

namespace hone {
namespace {
constexpr double kBucketSeconds = 30;
}  // namespace

Result<LiveFile> LiveFile::open(std::string path) {
  LiveFile file(std::move(path));
  if (!file.in_bucket()) file.writer_ = HONE_TRY(file_store().append(file.path_));
  return file;
}

LiveFile::~LiveFile() {
  if (sync_.valid()) sync_.wait();
}

Status LiveFile::flush_bucket(bool last) {
  const double now = system_clock().seconds();
  const bool busy =
      sync_.valid() && sync_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (!last && (busy || now < synced_at_ + kBucketSeconds)) return Ok{};
  const auto note = [this](const Error& e) {
    if (!std::exchange(told_, true)) failure_ = e.text();
  };
  if (sync_.valid())
    if (const Status synced = sync_.get(); !synced.ok()) note(synced.error());
  if (!writer_) {
    Result<std::unique_ptr<Writer>> opened = file_store().append(path_);
    if (!opened.ok()) {
      note(opened.error());
      return last ? Status(std::move(opened.error())) : Status(Ok{});
    }
    writer_ = std::move(*opened);
  }
  HONE_TRY(writer_->write(pending_));
  pending_.clear();
  synced_at_ = now;
  sync_ = std::async(std::launch::async, [w = writer_.get()] { return w->sync(); });
  return last ? sync_.get() : Status(Ok{});
}

Status LiveFile::flush() {
  if (in_bucket()) return flush_bucket(false);
  if (pending_.empty()) return Ok{};
  HONE_TRY(writer_->write(pending_));
  pending_.clear();
  return Ok{};
}

Status LiveFile::close() {
  if (in_bucket()) return flush_bucket(true);
  HONE_TRY(flush());
  return writer_->sync();
}

}  // namespace hone
