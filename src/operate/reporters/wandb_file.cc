#include "operate/reporters/wandb_file.h"

#include <zlib.h>

#include <cmath>

#include "base/core/protobuf.h"

namespace hone {
namespace {

namespace pb = protobuf;
constexpr size_t kWandbBlock = 32768, kWandbHead = 7;

// HistoryItem and SummaryItem: 2 nested_key, 16 value_json.
std::string wandb_items(const WandbItems& items) {
  std::string s;
  for (const auto& [key, json] : items) s += pb::bytes(1, pb::bytes(2, key) + pb::bytes(16, json));
  return s;
}

}  // namespace

std::string WandbFraming::header() { return std::string(":W&B\xe1\xbe\0", kWandbHead); }

std::string WandbFraming::frame(std::string_view record) {
  std::string out;
  for (bool first = true, last = false; !last; first = false) {
    if (kWandbBlock - in_block_ <
        kWandbHead) {  // no room for a head: zeros to the end of the block
      out.append(kWandbBlock - in_block_, '\0');
      in_block_ = 0;
    }
    const size_t length = std::min(record.size(), kWandbBlock - in_block_ - kWandbHead);
    last = length == record.size();
    std::string piece(1, static_cast<char>(first ? (last ? 1 : 2) : last ? 4 : 3));
    piece += record.substr(0, length);
    record.remove_prefix(length);
    out += pb::little_endian(static_cast<uint32_t>(
               ::crc32_z(0, reinterpret_cast<const Bytef*>(piece.data()), piece.size()))) +
           pb::little_endian(static_cast<uint16_t>(length)) + piece;
    in_block_ = (in_block_ + kWandbHead + length) % kWandbBlock;
  }
  return out;
}

Result<WandbFile> WandbFile::create(const std::string& path, std::string run_id) {
  LiveFile live = HONE_TRY(LiveFile::open(path));
  WandbFile file(std::move(live), std::move(run_id));
  file.file_.add(WandbFraming::header());
  // HeaderRecord: 1 version_info {1 producer, 2 min_consumer}; the least that the client itself
  // asks for.
  file.add(WandbRecord::header, pb::bytes(1, pb::bytes(1, "hone") + pb::bytes(2, "0.70.0")));
  return file;
}

void WandbFile::add(WandbRecord kind, std::string_view message) {
  // Record: 1 num, 200 _info {1 stream_id}
  file_.add(framing_.frame(pb::number(1, ++records_) + pb::bytes(static_cast<int>(kind), message) +
                           pb::bytes(200, pb::bytes(1, id_))));
}

// google.protobuf.Timestamp
std::string wandb_time(double wall_seconds) {
  const double whole = std::floor(wall_seconds);
  return pb::number(1, static_cast<int64_t>(whole)) +
         pb::number(2, static_cast<int64_t>((wall_seconds - whole) * 1e9));
}

std::string wandb_history(int64_t step, const WandbItems& items) {
  return wandb_items(items) + pb::bytes(2, pb::number(1, step));
}

std::string wandb_summary(const WandbItems& items) { return wandb_items(items); }

std::string wandb_stats(double wall_seconds, const WandbItems& items) {
  std::string s = pb::bytes(2, wandb_time(wall_seconds));
  for (const auto& [key, json] : items) s += pb::bytes(3, pb::bytes(1, key) + pb::bytes(16, json));
  return s;
}

std::string wandb_output(double wall_seconds, std::string_view line, bool error) {
  return pb::number(1, error ? 0 : 1) + pb::bytes(2, wandb_time(wall_seconds)) + pb::bytes(3, line);
}

std::string wandb_config(const WandbItems& items) {
  std::string s;
  for (const auto& [key, json] : items) s += pb::bytes(1, pb::bytes(1, key) + pb::bytes(16, json));
  return s;
}

std::string wandb_metric(const std::string& name, const std::string& glob_name,
                         const std::string& step_metric) {
  // MetricRecord: 1 name, 2 glob_name, 4 step_metric, 6 options {1 step_sync, 3 defined}
  std::string s, options;
  if (!name.empty()) s += pb::bytes(1, name);
  if (!glob_name.empty()) s += pb::bytes(2, glob_name);
  if (!step_metric.empty()) {
    s += pb::bytes(4, step_metric);
    options = pb::number(1, 1);
  }
  return s + pb::bytes(6, options + pb::number(3, 1));
}

std::string wandb_exit(int code, double runtime_seconds) {
  return pb::number(1, code) + pb::number(2, static_cast<int64_t>(runtime_seconds));
}

}  // namespace hone
