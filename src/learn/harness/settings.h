// The settings that all tasks have: those of training and those of the data.
#pragma once

#include <functional>
#include <memory>

#include "base/settings/settings.h"
#include "learn/data/rows/order.h"
#include "learn/train/settings.h"
#include "learn/train/split.h"

namespace hone {

// The settings that name the data and choose its rows.
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

  // The seed for the order of training rows: data_seed or, if it is not set, seed.
  uint64_t order_seed() const { return static_cast<uint64_t>(data_seed.value_or(seed)); }
  // The order of the training rows in each epoch. `rows`: their number.
  RowOrder training_order(int64_t rows) const {
    return shuffles() ? RowOrder::shuffled(rows, order_seed()) : RowOrder::sequential(rows);
  }

  // Sets `split`, `continued_from` and `has_ended` from the start of the run. The command calls it.
  void begin_from(const TrainStart& start);
  // The split into micro-batches of the checkpoint to resume from; nullopt: a new run, or the checkpoint has no split.
  std::optional<Split> split;
  std::string continued_from;  // path of the checkpoint to resume from; "": a new run
  // True: the run has ended before, and nothing is left to train. The final weights are in the output folder.
  bool has_ended = false;
  // Writes a text to standard output, for tasks whose output other programs read. The command sets it; the default does
  // nothing.
  std::function<void(std::string_view)> print;
  // Receives predictions and scores of the rows of an evaluation; null: they are not needed. The command sets it.
  std::shared_ptr<ExampleScores> example_scores;
};

// Whether the schema has this setting and the user gave it a value.
bool has_given(const Schema& schema, const std::string& name);
// Returns H0210 if `tokens` is below 2, because such a row has no next token to learn. `tokens`: the number of tokens
// of a row. `flag`: the flag that sets it, without dashes.
Status check_row_tokens(const std::string& flag, int64_t tokens);

// A read-only schema of all settings of a task's settings object. Own: a class that derives from TaskSettings and binds
// its additional settings in bind_own().
template <class Own>
Schema schema_of(const Own& s) {
  Schema schema("hone train", "");
  auto& bound = const_cast<Own&>(s);  // only parsing a schema writes into them
  bound.TaskSettings::bind(schema);
  bound.bind_own(schema);
  return schema;
}

}  // namespace hone
