// The models of a server by name and version, and the version for each request. Any thread uses it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "operate/serve/served_model.h"

namespace hone {

// Shares of requests in percent by version; their sum is 100.
using Traffic = std::map<std::string, int64_t>;
// Whether version `a` is a larger number than `b`; false if one of them is not a number.
bool is_newer(const std::string& a, const std::string& b);
// Gives a version this share; the others share the rest in proportion. Without others it gets all.
Traffic with_share(Traffic now, const std::string& version, int64_t share);

// H3415: the name has a control character (NUL is one), or the version has one or a slash.
Status check_model_name(const std::string& name, const std::string& version);

class ModelSet {
 public:
  using Model = std::shared_ptr<ServedModel>;
  using Traffic = hone::Traffic;

  // While the first models are loaded, a missing one is H3417, not H3416.
  void loading(bool now) { loading_ = now; }
  bool loading() const { return loading_; }
  // Replaces the same name and version; the old one finishes its requests. A first version gets all
  // requests, later ones none until set_traffic.
  void add(Model model);
  // H3416: the version is not in the set. H3402: the shares do not sum to 100.
  Status set_traffic(const std::string& name, const Traffic& traffic);
  // Removes one version, or all if none is given. The last version cannot be removed alone while it
  // has a share of requests. H3416.
  Status remove(const std::string& name, const std::string& version = "");

  // Picks a version by the shares, unless one is given. "" is the name that was added first. H3416; errors of
  // check_model_name().
  Result<Model> find(const std::string& name, const std::string& version = "");
  // Looks a model up without counting a request. No version: the one with the largest share. Errors of find().
  Result<Model> look_up(const std::string& name, const std::string& version = "");
  std::vector<Model> all() const;
  // All models of the set, and removed ones that still answer a request.
  std::vector<Model> living() const;
  std::vector<std::string> names() const;  // in the order in which they were added
  Traffic traffic(const std::string& name) const;

 private:
  struct Named {
    std::string name;
    std::map<std::string, Model> versions;
    Traffic traffic;
    uint64_t requests = 0;
  };
  Named* named(const std::string& name);
  Result<Model> version_of(const Named& n, const std::string& version) const;
  Error unknown(const std::string& name, const std::string& version = "") const;
  void leave(const Model& model);

  mutable std::mutex mutex_;
  std::vector<Named> models_;
  std::atomic<bool> loading_{false};
  std::vector<std::weak_ptr<ServedModel>> left_;  // removed, perhaps still alive
};

}  // namespace hone
