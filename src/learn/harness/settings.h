// The settings of every task.
#pragma once

#include <functional>
#include <memory>

#include "base/settings/settings.h"
#include "learn/data/rows/order.h"
#include "learn/train/settings.h"
#include "learn/train/split.h"

namespace hone {

// The training rows.
struct DataSettings {
#define HONE_SETTINGS "learn/harness/data_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
};

class ExampleScores;
struct TrainStart;

struct TaskSettings : TrainSettings, DataSettings {
  TaskSettings();
  TaskSettings(const TaskSettings&);
  TaskSettings& operator=(const TaskSettings&);
  ~TaskSettings();
  void bind(Schema& schema);

  // The seed of the order of training rows.
  uint64_t order_seed() const { return static_cast<uint64_t>(data_seed.value_or(seed)); }
  // The order of `rows` training rows in each epoch.
  RowOrder training_order(int64_t rows) const {
    return shuffles() ? RowOrder::shuffled(rows, order_seed()) : RowOrder::sequential(rows);
  }

  // From the start of a run; the command calls it.
  void begin_from(const TrainStart& start);
  // The split into micro-batches of the checkpoint that the run resumes; none: a new run, or the
  // checkpoint has none.
  std::optional<Split> split;
  std::string continued_from;
  bool has_ended = false;  // nothing is left to train: the weights are those of the output folder
  // Standard output, for tasks whose lines other programs read; the command sets it.
  std::function<void(std::string_view)> print;
  // Receives the rows of an evaluation; null: not needed. The command sets it.
  std::shared_ptr<ExampleScores> example_scores;
};

// Whether the setting exists and the user gave it.
bool has_given(const Schema& schema, const std::string& name);
// H0210 with the name of the flag if rows have one token: nothing to learn from.
Status check_row_tokens(const std::string& flag, int64_t tokens);

// A read-only schema of an object with settings of its own (bind_own).
template <class Own>
Schema schema_of(const Own& s) {
  Schema schema("hone train", "");
  auto& bound = const_cast<Own&>(s);  // only parsing a schema writes into them
  bound.TaskSettings::bind(schema);
  bound.bind_own(schema);
  return schema;
}

}  // namespace hone
