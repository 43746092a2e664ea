// A model folder becomes a version of the registry, with what its run and its evaluation left beside it.
#pragma once

#include "operate/registry/registry.h"

namespace hone {

struct ModelToRegister {
  std::string name = {};
  std::string folder = {};  // of the model files: a path or URL
  // JSON files; none: all_results.json of the folder, if it is there.
  std::vector<std::string> metrics = {};
  std::string run_log = {};  // hone_log.jsonl or its folder; "": that of the folder, if it is there
  // A folder with eval_examples.jsonl; "": the model's own, if it is there.
  std::string evaluation = {};
  std::string parent = {};       // "": what the run began from
  std::string description = {};  // of the model; "": stays
  Labels labels = {};
  std::string alias = {};
  std::string hone_version = {};  // of this program
};

// Hashes the files and adds the version; see Registry::add_version for files that are registered already.
// Metrics are stored as the files have them, later files over earlier ones. Errors: H3140, H3141 a file of
// metrics that is not one, those of Registry::add_version and of the store.
Result<ModelVersion> register_model(Registry& registry, const ModelToRegister& given);

}  // namespace hone
