// A project for `hone pipeline`: sample rows, pipeline.json, and files to build an image and to run
// it elsewhere.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

struct ProjectOf {
  std::string task, name;
  std::string hub_model;                         // named in README.md
  OrderedJson (*row)(int i) = nullptr;           // of the data
  std::map<std::string, std::string> data = {};  // in place of `row`: path below data/ -> bytes
  OrderedJson keys, flags;                       // of the recipe, and of its object `train`
  bool has_labels = false;                       // the model has a head for the labels of the rows
  bool is_served = true;  // the pipeline ends with an endpoint, else with a decision
};
// Path below the project's folder -> text. The model of the pipeline is in "model".
std::map<std::string, std::string> project_files(const ProjectOf& project);

}  // namespace hone
