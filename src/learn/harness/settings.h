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

  // Sets the next three members from the start of the run. The command calls it.
  void begin_from(const TrainStart& start);
  // The split into micro-batches of the checkpoint to resume from; nullopt: a new run, or the checkpoint has none.
  std::optional<Split> split;
  std::string continued_from;  // the checkpoint to resume from; "": a new run
  // The run has ended before and nothing is left to train. The final weights are in the output folder.
  bool has_ended = false;
  // Writes to standard output, for tasks whose output other programs read. The command sets it; the default does
  // nothing.
  std::function<void(std::string_view)> print;
  // Receives the rows of an evaluation; null: they are not needed. The command sets it.
  std::shared_ptr<ExampleScores> example_scores;
};

// Whether the schema has this setting and the user gave it a value.
bool has_given(const Schema& schema, const std::string& name);
// H0210 if rows have fewer than 2 tokens, because there is no next token to learn. `flag`: the flag that sets their
// length, without dashes.
Status check_row_tokens(const std::string& flag, int64_t tokens);

// A read-only schema of all settings of a task's settings object. Own: derives from TaskSettings and binds its own
// settings in bind_own().
template <class Own>
Schema schema_of(const Own& s) {
  Schema schema("hone train", "");
  auto& bound = const_cast<Own&>(s);  // only parsing a schema writes into them
  bound.TaskSettings::bind(schema);
  bound.bind_own(schema);
  return schema;
}

}  // namespace hone
