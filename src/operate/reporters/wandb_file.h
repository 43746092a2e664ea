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

// Encodes the records of a file in LevelDB's blocks of 32 KiB. Call frame() once for every record of the file, in
// order.
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
  // Queues a record that contains this serialized message; flush() writes the queued records (see LiveFile).
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

// Pairs of a name and a value; each value is JSON text.
using WandbItems = std::vector<std::pair<std::string, std::string>>;

// Each function below returns a serialized message. `wall_seconds` are seconds since 1970.
std::string wandb_time(double wall_seconds);
std::string wandb_history(int64_t step, const WandbItems& items);
std::string wandb_summary(const WandbItems& items);
std::string wandb_stats(double wall_seconds, const WandbItems& items);
// A line of standard output. If `error` is true: a line of standard error, which W&B's page marks with "ERROR".
std::string wandb_output(double wall_seconds, std::string_view line, bool error);
std::string wandb_config(const WandbItems& items);  // the settings, for wandb_run()
// Defines the metric `name`, or all metrics that match the pattern `glob_name`. `step_metric` is the metric for the x
// axis of their charts.
std::string wandb_metric(const std::string& name, const std::string& glob_name,
                         const std::string& step_metric);
std::string wandb_exit(int code, double runtime_seconds);

}  // namespace hone
