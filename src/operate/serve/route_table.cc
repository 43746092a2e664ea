#include "operate/serve/route_table.h"

#include <set>

#include "base/core/text.h"

namespace hone {
namespace {

bool takes(const Route& route, const std::string& method) {
  if (route.method == "*" || route.method == method) return true;
  return route.method == "GET" && method == "HEAD";
}

}  // namespace

std::vector<PathPattern> PathPattern::all_of(const std::string& pattern) {
  const size_t open = pattern.find('['), close = pattern.find(']');
  if (open == std::string::npos) return {PathPattern(pattern)};
  const std::string before = pattern.substr(0, open), after = pattern.substr(close + 1);
  std::vector<PathPattern> all = all_of(before + after);
  const std::string inside = pattern.substr(open + 1, close - open - 1);
  for (PathPattern& p : all_of(before + inside + after)) all.push_back(std::move(p));
  return all;
}

PathPattern::PathPattern(const std::string& plain) {
  for (const std::string& text : split(plain.starts_with('/') ? plain.substr(1) : plain, '/')) {
    const size_t open = text.find('{'), close = text.find('}');
    if (open == std::string::npos)
      parts_.push_back({text, "", ""});
    else
      parts_.push_back(
          {text.substr(0, open), text.substr(open + 1, close - open - 1), text.substr(close + 1)});
  }
}

std::optional<PathNames> PathPattern::match(const std::vector<std::string>& path) const {
  if (path.size() != parts_.size()) return {};
  PathNames names;
  for (size_t i = 0; i < path.size(); ++i) {
    const Part& p = parts_[i];
    const std::string& text = path[i];
    if (p.name.empty()) {
      if (text != p.before) return {};
      continue;
    }
    const size_t around = p.before.size() + p.after.size();
    if (text.size() < around || !text.starts_with(p.before) || !text.ends_with(p.after)) return {};
    names[p.name] = text.substr(p.before.size(), text.size() - around);
  }
  return names;
}

RouteTable::RouteTable(const std::vector<Api>& apis, const ServeContext& server) {
  for (const Api& api : apis)
    for (Route& route : api.routes(server)) {
      std::vector<PathPattern> patterns = PathPattern::all_of(route.pattern);
      entries_.push_back({api.name, api.open, std::move(route), std::move(patterns)});
    }
}

std::optional<RouteTable::Match> RouteTable::find(const std::string& method,
                                                  const std::vector<std::string>& path,
                                                  bool open_alone) const {
  // A path with an action, such as models/a:predict, is not the name "a:predict" of another pattern.
  bool acts = false;
  for (const Entry& e : entries_)
    for (const PathPattern& p : e.patterns) acts = acts || (p.has_action() && p.match(path));
  std::optional<Match> other;  // of another method
  std::set<std::string> methods;
  for (const Entry& e : entries_) {
    if (open_alone && !e.open) continue;
    for (const PathPattern& p : e.patterns) {
      if (acts && !p.has_action()) continue;
      auto names = p.match(path);
      if (!names) continue;
      if (takes(e.route, method)) return Match{&e.api, &e.route, std::move(*names)};
      methods.insert(e.route.method);
      if (!other) other = Match{&e.api, &e.route, std::move(*names)};
    }
  }
  if (other) other->allowed = join(std::vector<std::string>(methods.begin(), methods.end()), ", ");
  return other;
}

}  // namespace hone
