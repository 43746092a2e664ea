// Writes the transaction log of Weights & Biases (W&B), run-<id>.wandb: records of wandb_internal.proto in the log
// format of LevelDB. `wandb sync` uploads the file.
//   https://github.com/google/leveldb/blob/main/doc/log_format.md
//   https://github.com/wandb/wandb/blob/main/wandb/proto/wandb_internal.proto
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operate/reporters/live_file.h"

namespace hone {

// Splits the records of a file into LevelDB's blocks of 32 KiB. Call frame() for every record of the file, in order.
class WandbFraming {
 public:
  static std::string header();                 // the first bytes of the file
  std::string frame(std::string_view record);  // the next bytes of the file, for this record

 private:
  size_t in_block_ = 7;  // the header is part of the first block
};

// The kinds of records: field numbers of the message Record in wandb_internal.proto.
enum class WandbRecord {
  history = 2,
  summary = 3,
  stats = 7,
  metric = 12,
  output_raw = 13,
  run = 17,
  exit = 18,
  header = 21,
  environment = 26
};

class WandbFile {
 public:
  // Creates the file with its header. Errors: those of LiveFile::open.
  static Result<WandbFile> create(const std::string& path, std::string run_id);
  // Queues a record with this serialized message; flush() writes it (see LiveFile).
  void add(WandbRecord kind, std::string_view message);
  Status flush() { return file_.flush(); }
  Status close() { return file_.close(); }

 private:
  WandbFile(LiveFile file, std::string run_id) : file_(std::move(file)), id_(std::move(run_id)) {}
  LiveFile file_;
  std::string id_;
  WandbFraming framing_;
  int64_t records_ = 0;
};

// Names and values; each value is JSON text.
using WandbItems = std::vector<std::pair<std::string, std::string>>;

// Each function returns a serialized message. `wall_seconds` are seconds since 1970.
std::string wandb_time(double wall_seconds);
std::string wandb_history(int64_t step, const WandbItems& items);
std::string wandb_summary(const WandbItems& items);
std::string wandb_stats(double wall_seconds, const WandbItems& items);
// A line of standard output; if `error`, a line of standard error, which W&B's page marks with "ERROR".
std::string wandb_output(double wall_seconds, std::string_view line, bool error);
std::string wandb_config(const WandbItems& items);  // the settings, for wandb_run()
// The definition of a metric, or of all metrics that fit `glob_name`, and the metric `step_metric` for its x axis.
std::string wandb_metric(const std::string& name, const std::string& glob_name,
                         const std::string& step_metric);
std::string wandb_exit(int code, double runtime_seconds);

}  // namespace hone
