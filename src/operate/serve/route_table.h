// Finds the route of a request by its path and method.
#pragma once

#include "operate/serve/route.h"

namespace hone {

// The parts of a path that a pattern without brackets asks for.
class PathPattern {
 public:
  // All forms of a pattern, with and without each part in brackets.
  static std::vector<PathPattern> all_of(const std::string& pattern);
  // The values of the pattern's names in a path; nullopt if the path does not match.
  std::optional<PathNames> match(const std::vector<std::string>& path) const;
  // Whether its last part ends after a name: {model}:predict.
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
    const std::string* api = nullptr;  // its name
    const Route* route = nullptr;
    PathNames names;
    std::string allowed =
        {};  // the methods of the path, "GET, POST", if the request has another one
  };
  // The first route that fits, in the order of the APIs; else the first whose path fits, with the methods that are
  // allowed. `open_alone`: only among those that need no key.
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
