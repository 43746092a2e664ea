// Finds one model for a server: from a text of the command line, a repository in Triton's layout, or the registry.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

struct ModelSource {
  std::string name = "", version = "1";
  std::string source = "";  // where the model is: folder, file, URL or hub name
  std::string task = "";    // the model's task in the registry; "": unknown
  // Text before each prompt, from the registry; nullopt: unknown.
  std::optional<std::string> prefix = {};
  std::string deployed_id = "";  // DeployedModel::id; "": not deployed at an endpoint
};

// Parses "FOLDER", "NAME=FOLDER" or "NAME:VERSION=FOLDER". FOLDER may also be a file, a URL, a hub name, or
// "models:/NAME/3", "models:/NAME@alias" or "models:/NAME" for a model of the registry at `registry`. Errors: H3402 the
// name or the folder is empty; those of the registry and of registered_source().
Result<ModelSource> model_source(const std::string& text, const std::string& registry);
// The source of a registered version, with its task, and with the version's label "source_prefix" as `prefix`. Labels
// cannot end with a blank, so the blank at the end of the prefix is added. Errors: H3145 the model's files in a bucket
// have changed since the version was registered; those of the store.
Result<ModelSource> registered_source(const ModelVersion& version);

// Finds a model in Triton's layout: FOLDER/NAME/VERSION/ with numbers as versions, or a model's files directly in
// FOLDER/NAME/. Version "": the largest. Files of other backends are ignored. Error H3416: there is no such model or
// version.
Result<ModelSource> in_repository(const std::string& folder, const std::string& name,
                                  const std::string& version = "");
// The names of the folders in `folder`, sorted; names that begin with '.' are left out. Error H3402: the folder cannot
// be read.
Result<std::vector<std::string>> repository_names(const std::string& folder);

}  // namespace hone
