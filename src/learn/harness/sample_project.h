// The parts of a project of `hone init`: rows, a tiny model and flags that fit them.
#pragma once

#include <map>
#include <string>

#include "learn/pretrained/tiny_model.h"

namespace hone {

// Sentence i is always the same.
struct SampleSentence {
  std::string place, time, weather;
  std::string text() const;
  std::string prompt() const;  // a fact with a question; answer() follows from it
  std::string answer() const;
  bool is_good() const;  // of the weather: half of them
};
SampleSentence sample_sentence(int i);

struct SampleProject {
  TinyModel model;
  OrderedJson (*row)(int i) = nullptr;
  const char* other_columns = nullptr;  // of rows in other forms, for advice: "messages"
  // Data that are not rows of a file, in place of `row`: path below the folder of data -> bytes.
  std::map<std::string, std::string> (*files)() = nullptr;
  OrderedJson keys = OrderedJson::object();   // of the recipe, beside those of every project
  OrderedJson flags = OrderedJson::object();  // of hone train, and of the recipe's object `train`
};

}  // namespace hone
