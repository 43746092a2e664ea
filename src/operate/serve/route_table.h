// Finds the route of a request by its path and method.
#pragma once

#include "operate/serve/route.h"

namespace hone {

// One form of a Route::pattern (route.h), without brackets, that paths are matched against. An action is a text after a
// name in the last part, such as ":predict" in "{model}:predict".
class PathPattern {
 public:
  // All forms of a pattern, with and without each part in brackets.
  static std::vector<PathPattern> all_of(const std::string& pattern);
  // The values of the pattern's names in a path; nullopt if the path does not match.
  std::optional<PathNames> match(const std::vector<std::string>& path) const;
  // Whether the pattern has an action.
  bool has_action() const { return !parts_.back().after.empty(); }

 private:
  explicit PathPattern(const std::string& plain);
  struct Part {
    std::string before, name, after;  // name "": the part of the path must be equal to `before`
  };
  std::vector<Part> parts_;
};

class RouteTable {
 public:
  RouteTable(const std::vector<Api>& apis, const ServeContext& server);

  struct Match {
    const std::string* api = nullptr;  // name of the API; belongs to the table
    const Route* route = nullptr;      // belongs to the table
    PathNames names;
    // If `route` matches the path but not the request's method: the methods that the path accepts, "GET, POST". Else
    // "".
    std::string allowed = {};
  };
  // Returns the first route that matches the path and the method, in the order of the APIs. If there is none, returns
  // the first route that matches the path, with Match::allowed set. nullopt: no route matches the path. If a pattern
  // with an action matches the path, patterns without an action are ignored. `open_alone`: search only APIs that need
  // no key (Api::open).
  std::optional<Match> find(const std::string& method, const std::vector<std::string>& path,
                            bool open_alone) const;

 private:
  struct Entry {
    std::string api;
    bool open;
    Route route;
    std::vector<PathPattern> patterns;
  };
  std::vector<Entry> entries_;
};

}  // namespace hone
