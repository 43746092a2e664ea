// Finds the models of a server: words of its command line, a repository in Triton's layout, the
// registry.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

struct ModelSource {
  std::string name = "", version = "1";
  std::string source = "";                 // folder, file, URL or hub name
  std::string task = "";                   // that the registry knows of it
  std::optional<std::string> prefix = {};  // the same
  std::string deployed_id = "";            // of what is deployed at an endpoint
};

// "FOLDER", "NAME=FOLDER", "NAME:VERSION=FOLDER"; for FOLDER also "models:/NAME/3", "models:/NAME@alias" and
// "models:/NAME" of the registry. H3402; errors of the registry.
Result<ModelSource> model_source(const std::string& text, const std::string& registry);
// A version of the registry: its task and its label source_prefix say how texts are put to it. Labels have no
// blanks at their ends, a prefix ends in one.
ModelSource registered_source(const ModelVersion& version);

// Triton's layout: FOLDER/NAME/VERSION/ with numbers for versions, of which the largest or the
// named one is taken; or FOLDER/NAME/ itself is a model's folder. Files of other backends are
// ignored. H3416.
Result<ModelSource> in_repository(const std::string& folder, const std::string& name,
                                  const std::string& version = "");
// H3402: it is not a folder.
Result<std::vector<std::string>> repository_names(const std::string& folder);

}  // namespace hone
