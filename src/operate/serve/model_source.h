// Finds the models of a server: from its command line, a repository in Triton's layout, or the
// registry.
#pragma once

#include <string>
#include <vector>

#include "operate/registry/registry.h"

namespace hone {

struct ModelSource {
  std::string name = "", version = "1";
  std::string source = "";                 // folder, file, URL or hub name
  std::string task = "";                   // from the registry; "": unknown
  std::optional<std::string> prefix = {};  // from the registry; unset: unknown
  std::string deployed_id = "";            // DeployedModel::id, if it is deployed at an endpoint
};

// "FOLDER", "NAME=FOLDER", "NAME:VERSION=FOLDER"; for FOLDER also "models:/NAME/3", "models:/NAME@alias" and
// "models:/NAME" of the registry. H3402; errors of the registry.
Result<ModelSource> model_source(const std::string& text, const std::string& registry);
// The source of a registered version, with its task, and with its label source_prefix as the prefix
// of texts. Labels cannot end with a blank, so the blank at the end of the prefix is added. H3145.
Result<ModelSource> registered_source(const ModelVersion& version);

// A model in Triton's layout: FOLDER/NAME/VERSION/ with numbers as versions (default: the largest),
// or a model's files directly in FOLDER/NAME/. Files of other backends are ignored. H3416.
Result<ModelSource> in_repository(const std::string& folder, const std::string& name,
                                  const std::string& version = "");
// H3402: it is not a folder.
Result<std::vector<std::string>> repository_names(const std::string& folder);

}  // namespace hone
