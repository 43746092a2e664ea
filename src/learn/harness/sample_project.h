// The parts of a sample project that `hone init` writes for a task: rows, a tiny model, and the flags to train on them.
#pragma once

#include <map>
#include <string>

#include "learn/pretrained/tiny_model.h"

namespace hone {

// A sentence for sample rows: "The ferry to <place> leaves at <time>. There was <weather> in the morning, ...".
struct SampleSentence {
  std::string place, time, weather;
  std::string text() const;    // the whole sentence
  std::string prompt() const;  // "The ferry to the lake leaves at noon. When does it leave?"
  std::string answer() const;  // " At noon."
  bool is_good() const;        // true: the weather is sun, wind or snow; a label for classification
};
// Sentence number i, from 0. The same i always gives the same sentence.
SampleSentence sample_sentence(int i);

struct SampleProject {
  TinyModel model;
  OrderedJson (*row)(int i) = nullptr;  // returns row number i of the data file, from 0
  // For advice: other columns in which the task accepts its data, such as "messages"; null: none.
  const char* other_columns = nullptr;
  // Data in several files, instead of `row`. Returns the bytes of each file by its path in the data folder.
  std::map<std::string, std::string> (*files)() = nullptr;
  OrderedJson keys = OrderedJson::object();  // keys to add to the project's recipe
  // Flags for hone train on the sample data, by name. They are also written into the recipe's object `train`.
  OrderedJson flags = OrderedJson::object();
};

}  // namespace hone
