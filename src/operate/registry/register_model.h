// Registers a model folder as a version, with the records of its run and evaluation.
#pragma once

#include <functional>

#include "operate/registry/registry.h"

namespace hone {

struct ModelToRegister {
  std::string name = {};
  std::string folder = {};  // of the model files: a path or URL
  // JSON files; none: all_results.json of the folder, if it exists.
  std::vector<std::string> metrics = {};
  std::string run_log = {};  // hone_log.jsonl or its folder; "": the folder's own, if it exists
  // A folder with eval_examples.jsonl; "": the model's own, if it exists.
  std::string evaluation = {};
  std::string parent = {};       // "": the initial model of the run
  std::string description = {};  // of the model; "": unchanged
  Labels labels = {};
  std::string alias = {};
  std::string hone_version = {};  // of this program
  // The URL that other machines know a path of this machine by; returns any other text unchanged.
  std::function<std::string(const std::string& path)> published = {};
};

// Hashes the files and adds the version; see Registry::add_version for files that are registered
// already. Stores metrics unchanged; later files win. Reads `folder` and names its published place,
// which must have the same files. Errors: H3140, H3141 a malformed file of metrics, H3145, those of
// Registry::add_version and of the store.
Result<ModelVersion> register_model(Registry& registry, const ModelToRegister& given);

}  // namespace hone
