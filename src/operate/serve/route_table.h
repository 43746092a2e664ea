// Finds the route of a request by its path and method.
#pragma once

#include "operate/serve/route.h"

namespace hone {

// One form of a Route::pattern, without brackets. Matches a path against it.
class PathPattern {
 public:
  // All forms of a pattern, with and without each part in brackets.
  static std::vector<PathPattern> all_of(const std::string& pattern);
  // The values of the pattern's names in a path; nullopt if the path does not match.
  std::optional<PathNames> match(const std::vector<std::string>& path) const;
  // Whether its last part has text after a name, as {model}:predict has.
  bool has_action() const { return !parts_.back().after.empty(); }

 private:
  explicit PathPattern(const std::string& plain);
  struct Part {
    std::string before, name, after;  // name "": the part is `before`
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
    // The methods of the path, "GET, POST", if no route has the request's method; "": `route` fits.
    std::string allowed = {};
  };
  // The first route whose path and method fit, in the order of the APIs; else the first whose path fits, with
  // `allowed`; nullopt: no path fits. If a pattern with an action fits the path, patterns without one are ignored.
  // `open_alone`: searches only APIs that need no key.
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
