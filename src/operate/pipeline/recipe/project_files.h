// Makes the files of a new project for `hone pipeline`: sample rows, pipeline.json, and files that build an image and
// run the pipeline elsewhere.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

struct ProjectOf {
  std::string task, name;
  std::string hub_model;                // a model of the hub, as an example in README.md
  OrderedJson (*row)(int i) = nullptr;  // makes sample row i of the data
  // Files to use instead of `row`: path below data/ -> bytes.
  std::map<std::string, std::string> data = {};
  OrderedJson keys;         // added to the pipeline's recipe
  OrderedJson flags;        // added to the object "train" of the recipe
  bool has_labels = false;  // the model has a head for the labels of the rows
  bool is_served = true;    // true: the pipeline ends with an endpoint; false: with a decision
};
// Path below the project's folder -> content. The caller puts the pipeline's model into the folder "model".
std::map<std::string, std::string> project_files(const ProjectOf& project);

}  // namespace hone
