// Registers a model folder as a version of a registered model, with the records of its run and evaluation.
#pragma once

#include <functional>

#include "operate/registry/registry.h"

namespace hone {

struct ModelToRegister {
  std::string name = {};
  std::string folder = {};  // path or URL of the folder with the model's files
  // JSON files with metrics; empty: all_results.json of `folder` and of `evaluation`, if they exist.
  std::vector<std::string> metrics = {};
  // The run's hone_log.jsonl, or the folder that has this file; "": the file in `folder`, if it exists.
  std::string run_log = {};
  // A folder with eval_examples.jsonl; "": `folder`, if it has the file.
  std::string evaluation = {};
  // The model that training began from; "": the initial model of the run.
  std::string parent = {};
  std::string description = {};   // description of the model; "": unchanged
  Labels labels = {};             // labels of the version
  std::string alias = {};         // alias to set to the version; "": none
  std::string hone_version = {};  // version of this program
  // Maps a path of this machine to the URL of its published copy, which other machines can read. Returns a text without
  // such a copy unchanged. Null: there are no copies.
  std::function<std::string(const std::string& path)> published = {};
};

// Hashes the files of the model and adds the version; see Registry::add_version for files that are registered already.
// Metrics are stored unchanged; if several metrics files have a metric, the last file's value is stored. If `folder`
// has a published copy, its URL is recorded as the source; the copy must have the same files. Errors: H3140 the folder
// has no weights; H3141 a file of metrics is malformed; H3145 the published copy differs; those of
// Registry::add_version and of the store.
Result<ModelVersion> register_model(Registry& registry, const ModelToRegister& given);

}  // namespace hone
