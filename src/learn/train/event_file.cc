#include "learn/train/event_file.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/protobuf.h"
#include "base/store/crc32c.h"

namespace hone {
namespace {

using namespace protobuf;

std::string record(const std::string& data) {
  auto masked = [](std::string_view x) {
    const uint32_t c = crc32c(x);
    return little_endian((c >> 15 | c << 17) + 0xa282ead8u);
  };
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  return length + masked(length) + data + masked(data);
}

double now() { return system_clock().wall_seconds(); }

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

Result<EventFile> EventFile::create(const std::string& folder) {
  HONE_TRY(file_store().make_dirs(folder));
  EventFile file(fmt::format("{}/events.out.tfevents.{:010d}.{}.{}.0", folder,
                             static_cast<int64_t>(now()), host_name(), ::getpid()));
  // Event: 1 wall_time double, 2 step, 3 file_version, 5 summary
  file.pending_ = record(real(1, now()) + bytes(3, "brain.Event:2"));
  HONE_TRY(file.flush());
  return file;
}

void EventFile::add_event(int64_t step, std::string_view value) {
  const std::string summary = bytes(1, value);
  pending_ += record(real(1, now()) + number(2, step) + bytes(5, summary));
}

void EventFile::add_scalar(const std::string& tag, double value, int64_t step) {
  // Summary.Value: 1 tag, 2 simple_value float
  add_event(step, bytes(1, tag) + real(2, static_cast<float>(value)));
}

void EventFile::add_text(const std::string& tag, const std::string& text, int64_t step) {
  // Summary.Value: 1 tag, 8 tensor, 9 metadata {1 plugin_data {1 plugin_name}}
  // Tensor: 1 dtype (7: string), 2 shape {2 dim {1 size}}, 8 string_val
  const std::string shape = bytes(2, number(1, 1));
  const std::string tensor = number(1, 7) + bytes(2, shape) + bytes(8, text);
  add_event(step, bytes(1, tag + "/text_summary") + bytes(8, tensor) +
                      bytes(9, bytes(1, bytes(1, "text"))));
}

Status EventFile::flush_remote(bool last) {
  constexpr double kSeconds = 30;
  const bool busy =
      sync_.valid() && sync_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (!last && (busy || now() < synced_at_ + kSeconds)) return Ok{};
  if (sync_.valid())
    if (const Status synced = sync_.get(); !synced.ok() && !std::exchange(told_, true))
      log_warning("{} cannot be written: {}", path_, synced.error().text());
  if (!remote_) {
    Result<std::unique_ptr<Writer>> opened = file_store().append(path_);
    if (!opened.ok() && !std::exchange(told_, true))
      log_warning("{} cannot be written: {}", path_, opened.error().text());
    if (!opened.ok()) return Ok{};
    remote_ = std::move(*opened);
  }
  HONE_TRY(remote_->write(pending_));
  pending_.clear();
  synced_at_ = now();
  sync_ = std::async(std::launch::async, [w = remote_.get()] { return w->sync(); });
  return last ? sync_.get() : Status(Ok{});
}

Status EventFile::close() {
  return path_.find("://") == std::string::npos ? flush() : flush_remote(true);
}

Status EventFile::flush() {
  if (path_.find("://") != std::string::npos) return flush_remote(false);
  auto writer = HONE_TRY(file_store().append(path_));
  HONE_TRY(writer->write(pending_));
  HONE_TRY(writer->commit());
  pending_.clear();
  return Ok{};
}

std::string run_folder_name() {
  const auto seconds = static_cast<time_t>(now());
  tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  ::strftime(text.data(), text.size(), "%b%d_%H-%M-%S", &local);
  return std::string(text.data()) + "_" + host_name();
}

}  // namespace hone
