// Finds all models of a server, and the shares of requests of their versions. The models are those that its command
// line names, those of an endpoint of the registry, and those of a model repository.
#pragma once

#include "operate/serve/model_source.h"
#include "operate/serve/route.h"

namespace hone {

struct SourceOptions {
  std::vector<std::string> models;   // each in a form of model_source()
  std::string registry;              // address of the registry (Registry::open)
  std::string endpoint;              // id or display name of an endpoint of the registry; "": none
  std::string model_repository;      // folder in Triton's layout; "": none
  std::string uri;                   // path or URL of the model if the members above name none
  std::vector<std::string> traffic;  // shares of requests: "NAME:VERSION=PERCENT"
};

class ModelSources {
 public:
  // Errors: H3402 the options name no model, endpoint or repository, two models have the same name and version, or an
  // element of `traffic` is malformed; those of model_source(), in_repository() and the registry.
  static Result<ModelSources> find(const SourceOptions& options);

  const std::vector<ModelSource>& first() const { return first_; }  // to load at the start
  const std::map<std::string, Traffic>& traffic() const { return traffic_; }  // by model name
  const std::string& endpoint_id() const { return endpoint_.id; }  // "": no endpoint is served
  bool has_endpoint() const { return !options_.endpoint.empty(); }
  bool has_repository() const { return !options_.model_repository.empty(); }

  // The source of a requested model. A server with an endpoint looks it up in the registry at each call. Else a server
  // with a repository looks it up in the repository. Else it is one of first(). Errors: H3416 there is no such model;
  // those of the registry and of registered_source().
  Result<ModelSource> source_of(const LoadRequest& request) const;
  // The names of the models that are in the repository now; empty if the repository cannot be read.
  std::vector<std::string> repository() const;

 private:
  Status find_models();
  Status read_traffic();

  SourceOptions options_;
  std::vector<ModelSource> first_;
  Endpoint endpoint_;
  std::map<std::string, Traffic> traffic_;
};

}  // namespace hone
