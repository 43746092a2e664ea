// Finds one model for a server: from an argument of the command line, in a model repository with Triton's layout, or in
// hone's registry.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

struct ModelSource {
  std::string name = "", version = "1";
  std::string source = "";  // where the model is: folder, file, URL or hub name
  std::string task = "";    // the model's task in the registry; "": unknown
  // The text to put before each prompt, from the registry; nullopt: unknown.
  std::optional<std::string> prefix = {};
  std::string deployed_id = "";  // DeployedModel::id; "": not deployed at an endpoint
};

// Parses "FOLDER", "NAME=FOLDER" or "NAME:VERSION=FOLDER". FOLDER may also be a file, a URL or a hub name. For a model
// of the registry at `registry` it is "models:/NAME/3", "models:/NAME@alias" or "models:/NAME". Errors: H3402 the name
// or the folder is empty; those of the registry and of registered_source().
Result<ModelSource> model_source(const std::string& text, const std::string& registry);
// The source of a registered version, with its task. `prefix` is the version's label "source_prefix"; if the label does
// not end with a blank, one is added. Errors: H3145 the model's files are in a bucket and have changed since the
// version was registered; those of the store.
Result<ModelSource> registered_source(const ModelVersion& version);

// Finds a model in a repository with Triton's layout: in FOLDER/NAME/VERSION/, where VERSION is a number, or, if there
// are no such folders, directly in FOLDER/NAME/. Version "": the largest number. Error H3416: there is no such model or
// version.
Result<ModelSource> in_repository(const std::string& folder, const std::string& name,
                                  const std::string& version = "");
// The names of the folders in `folder`, sorted; names that begin with '.' are left out. Error H3402: the folder cannot
// be read.
Result<std::vector<std::string>> repository_names(const std::string& folder);

}  // namespace hone
