// The models of a server by name and version, and which version a request gets. Any thread uses it.
#pragma once

#include <map>
#include <mutex>

#include "operate/serve/served_model.h"

namespace hone {

// Shares of requests in percent by version; they sum to 100.
using Traffic = std::map<std::string, int64_t>;
// Whether version `a` is a larger number than `b`; false where one of them is not a number.
bool is_newer(const std::string& a, const std::string& b);
// A version gets this share, the others what is left in proportion; all of it where there is no other.
Traffic with_share(Traffic now, const std::string& version, int64_t share);

class ModelSet {
 public:
  using Model = std::shared_ptr<ServedModel>;
  using Traffic = hone::Traffic;

  // Takes the place of the same name and version; requests that it answers are finished by the one that
  // was there. A first version gets all requests, others none until set_traffic.
  void add(Model model);
  // H3416 of a version that is not there, H3402 of shares that do not sum to 100.
  Status set_traffic(const std::string& name, const Traffic& traffic);
  // All versions without one. The last version cannot go while it has a share of requests, unless all
  // go. H3416.
  Status remove(const std::string& name, const std::string& version = "");

  // "" is the first name that was added. Without a version by the shares. H3416.
  Result<Model> find(const std::string& name, const std::string& version = "");
  // For who asks what a model is: counts as no request. Without a version the one with the largest share.
  // H3416.
  Result<Model> look_up(const std::string& name, const std::string& version = "");
  std::vector<Model> all() const;
  // All, and those that are not in the set any more but still answer a request.
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
  std::vector<std::weak_ptr<ServedModel>> left_;  // removed, perhaps not gone
};

}  // namespace hone
