// The settings that every task has.
#pragma once

#include <functional>
#include <memory>

#include "base/settings/settings.h"
#include "learn/train/settings.h"
#include "learn/train/split.h"

namespace hone {

// Which rows are learnt from.
struct DataSettings {
#define HONE_SETTINGS "learn/harness/data_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
};

class ExampleScores;

struct TaskSettings : TrainSettings, DataSettings {
  TaskSettings();
  TaskSettings(const TaskSettings&);
  TaskSettings& operator=(const TaskSettings&);
  ~TaskSettings();
  void bind(Schema& schema);

  // From the checkpoint that the run continues from, whose micro-batches it keeps; none: it begins, or
  // the checkpoint does not say. The command sets both.
  std::optional<Split> split;
  std::string continued_from;
  // Standard output, for tasks whose lines other programs read; the command sets it.
  std::function<void(std::string_view)> print;
  // Gets what an evaluation says of each row; null: nobody asked. The command sets it.
  std::shared_ptr<ExampleScores> example_scores;
};

bool has_setting(const Schema& schema, const std::string& name);
// Whether it is there and the user said it.
bool has_given(const Schema& schema, const std::string& name);
// A row of one token has nothing to learn from: H0210 that names the flag.
Status check_row_tokens(const std::string& flag, int64_t tokens);

// All settings of an object with settings of its own (bind_own), to be read.
template <class Own>
Schema schema_of(const Own& s) {
  Schema schema("hone train", "");
  auto& bound = const_cast<Own&>(s);  // a schema would write into them when it parses
  bound.TaskSettings::bind(schema);
  bound.bind_own(schema);
  return schema;
}

}  // namespace hone
