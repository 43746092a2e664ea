// The models of a server: those of its command line, of an endpoint of the registry or of a repository, and their
// shares of requests.
#pragma once

#include "operate/serve/model_source.h"
#include "operate/serve/route.h"

namespace hone {

struct SourceOptions {
  std::vector<std::string> models;   // "FOLDER", "NAME=FOLDER", "NAME:VERSION=FOLDER"
  std::string registry;              // its path or URL
  std::string endpoint;              // id or name of an endpoint there; "": none
  std::string model_repository;      // folder in Triton's layout; "": none
  std::string uri;                   // of one model, where nothing else is named
  std::vector<std::string> traffic;  // "NAME:VERSION=PERCENT"
};

class ModelSources {
 public:
  // H3402: nothing is named, two models have one name and version, or a share is not one. Errors of the registry.
  static Result<ModelSources> find(const SourceOptions& options);

  const std::vector<ModelSource>& first() const { return first_; }  // to be loaded at the start
  const std::map<std::string, Traffic>& traffic() const { return traffic_; }  // by name
  const std::string& endpoint_id() const { return endpoint_.id; }             // "" without endpoint
  bool has_endpoint() const { return !options_.endpoint.empty(); }
  bool has_repository() const { return !options_.model_repository.empty(); }

  // The source of a requested model: from the registry or the repository now, else one of first(). H3416.
  Result<ModelSource> source_of(const LoadRequest& request) const;
  std::vector<std::string> repository() const;  // names

 private:
  Status find_models();
  Status read_traffic();

  SourceOptions options_;
  std::vector<ModelSource> first_;
  Endpoint endpoint_;
  std::map<std::string, Traffic> traffic_;
};

}  // namespace hone
