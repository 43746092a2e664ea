#include "operate/reporters/live_file.h"

#include <chrono>

#include "base/core/clock.h"
#include "base/store/private_file.h"

namespace hone {
namespace {
constexpr double kBucketSeconds = 30;
}  // namespace

// Requests in the background. None runs in the caller's thread: a retried request writes a line to
// the log, and the caller may be the log.
struct LiveFile::Bucket {
  std::string path, waiting;  // waiting: not in the writer yet
  std::unique_ptr<Writer> writer;

  Status send() {
    if (!writer) writer = HONE_TRY(file_store().append(path));
    HONE_TRY(writer->write(waiting));
    waiting.clear();
    return writer->sync();
  }
};

LiveFile::LiveFile(std::string path) : path_(std::move(path)) {}
LiveFile::LiveFile(LiveFile&&) noexcept = default;

Result<LiveFile> LiveFile::open(std::string path) {
  LiveFile file(std::move(path));
  if (file.in_bucket())
    file.bucket_ = std::make_unique<Bucket>(Bucket{file.path_, {}, {}});
  else
    file.writer_ = HONE_TRY(file_store().append(file.path_));
  close_to_others(file.path_);
  return file;
}

LiveFile::~LiveFile() {
  if (sent_.valid()) sent_.wait();
}

Status LiveFile::flush_bucket(bool last) {
  const double now = system_clock().seconds();
  const bool busy =
      sent_.valid() && sent_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (!last && (busy || now < sent_at_ + kBucketSeconds)) return Ok{};
  const auto noted = [this](Status sent) {
    if (!sent.ok() && !std::exchange(told_, true)) failure_ = sent.error().text();
    return sent;
  };
  if (sent_.valid()) (void)noted(sent_.get());
  bucket_->waiting += pending_;
  pending_.clear();
  sent_at_ = now;
  if (last) return noted(bucket_->send());
  sent_ = std::async(std::launch::async, [b = bucket_.get()] { return b->send(); });
  return Ok{};
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
