// The models of a server by name and version. The set chooses the version that answers a request. Any thread may use
// it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "operate/serve/served_model.h"

namespace hone {

// Version -> its share of a model's requests, in percent. The sum is 100.
using Traffic = std::map<std::string, int64_t>;
// Whether version `a` is a larger number than version `b`; false if `a` or `b` is not a number.
bool is_newer(const std::string& a, const std::string& b);
// Returns the shares `now` after a change: `version` gets `share` percent, and the other versions divide the rest in
// proportion to their old shares. If there is no other version, `version` gets 100.
Traffic with_share(Traffic now, const std::string& version, int64_t share);

// Error H3415: the name or the version has a control character (such as NUL), or the version has a slash.
Status check_model_name(const std::string& name, const std::string& version);

class ModelSet {
 public:
  using Model = std::shared_ptr<ServedModel>;
  using Traffic = hone::Traffic;

  // Call loading(true) before the first models are loaded, and loading(false) afterwards. In between, a missing model
  // is error H3417 instead of H3416.
  void loading(bool now) { loading_ = now; }
  bool loading() const { return loading_; }
  // Adds a model. A model with the same name and version is replaced; it finishes its requests. The first version of a
  // name gets all requests of the name. Later versions get none until set_traffic().
  void add(Model model);
  // Sets the shares of the versions of a name. Errors: H3416 the name or a version is not in the set; H3402 a share is
  // negative, or the shares do not sum to 100.
  Status set_traffic(const std::string& name, const Traffic& traffic);
  // Removes one version; if `version` is "", all versions of the name. The removed models finish their requests.
  // Errors: H3416 the name or version is not in the set; H3402 the version has a share above 0, and the name has other
  // versions.
  Status remove(const std::string& name, const std::string& version = "");

  // Returns the model for a request. Version "": chooses one by the shares. Name "": the name that was added first.
  // Errors: H3416 the name or version is not in the set; those of check_model_name().
  Result<Model> find(const std::string& name, const std::string& version = "");
  // Like find(), but does not count as a request. Version "": the version with the largest share. Errors: those of
  // find().
  Result<Model> look_up(const std::string& name, const std::string& version = "");
  std::vector<Model> all() const;
  // All models of the set, and the removed or replaced models that still answer a request.
  std::vector<Model> living() const;
  std::vector<std::string> names() const;          // in the order in which they were added
  Traffic traffic(const std::string& name) const;  // empty if the name is not in the set

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
  std::vector<std::weak_ptr<ServedModel>> left_;  // removed or replaced; may still be alive
};

}  // namespace hone
