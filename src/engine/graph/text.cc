#include "engine/graph/text.h"

#include <cctype>
#include <charconv>

#include "base/core/text.h"
#include "engine/graph/errors.h"
#include "engine/graph/op.h"

namespace hone {
namespace {

std::string quoted(std::string_view s) {
  std::string q = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    if (c == '\n') {
      q += "\\n";
      continue;
    }
    q += c;
  }
  return q + '"';
}

std::string attr_text(const Attr& a) {
  struct Visitor {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const {
      std::string s = fmt::format("{}", d);
      return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
    }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ","));
    }
  };
  return std::visit(Visitor{}, a);
}

std::string value_text(ValueId v) { return v == kNoValue ? "_" : "%" + std::to_string(v); }

// The line up to `//` outside of quotes.
std::string_view without_comment(std::string_view s) {
  bool inside = false;
  for (size_t i = 0; i < s.size(); ++i) {
    if (inside && s[i] == '\\')
      ++i;
    else if (s[i] == '"')
      inside = !inside;
    else if (!inside && s.substr(i, 2) == "//")
      return s.substr(0, i);
  }
  return s;
}

// One line of program text, read from left to right.
class Line {
 public:
  explicit Line(std::string_view s) : s_(s) {}
  void space() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  bool end() {
    space();
    return at_ >= s_.size();
  }
  bool take(std::string_view word) {
    space();
    if (s_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string word() {
    space();
    size_t from = at_;
    while (at_ < s_.size() &&
           (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '_' || s_[at_] == '.'))
      ++at_;
    return std::string(s_.substr(from, at_ - from));
  }
  bool integer(int64_t& out) {
    space();
    auto [end, ec] = std::from_chars(s_.data() + at_, s_.data() + s_.size(), out);
    if (ec != std::errc()) return false;
    at_ = static_cast<size_t>(end - s_.data());
    return true;
  }
  bool text(std::string& out) {
    if (!take("\"")) return false;
    out.clear();
    while (at_ < s_.size() && s_[at_] != '"') {
      if (s_[at_] == '\\' && at_ + 1 < s_.size()) {
        ++at_;
        out += s_[at_] == 'n' ? '\n' : s_[at_];
      } else {
        out += s_[at_];
      }
      ++at_;
    }
    return take("\"");
  }
  bool integers(std::vector<int64_t>& out) {
    if (!take("[")) return false;
    out.clear();
    if (take("]")) return true;
    int64_t i = 0;
    do {
      if (!integer(i)) return false;
      out.push_back(i);
    } while (take(","));
    return take("]");
  }
  bool attr(Attr& out) {
    space();
    if (at_ >= s_.size()) return false;
    if (s_[at_] == '"') {
      std::string t;
      if (!text(t)) return false;
      out = t;
      return true;
    }
    if (s_[at_] == '[') {
      std::vector<int64_t> v;
      if (!integers(v)) return false;
      out = v;
      return true;
    }
    if (take("true")) {
      out = true;
      return true;
    }
    if (take("false")) {
      out = false;
      return true;
    }
    size_t from = at_;
    while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) ||
                               std::string_view("+-.").find(s_[at_]) != std::string_view::npos))
      ++at_;
    std::string number(s_.substr(from, at_ - from));
    bool real = number.find_first_of(".enai") != std::string::npos;
    const char* begin = number.data();
    const char* stop = begin + number.size();
    if (real) {
      double d = 0;
      auto [end, ec] = std::from_chars(begin, stop, d);
      if (end != stop || ec != std::errc()) return false;
      out = d;
    } else {
      int64_t i = 0;
      auto [end, ec] = std::from_chars(begin, stop, i);
      if (end != stop || ec != std::errc()) return false;
      out = i;
    }
    return true;
  }
  size_t column() const { return at_ + 1; }

 private:
  std::string_view s_;
  size_t at_ = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const OpTable& ops, const std::string& file)
      : text_(text), file_(file), program_(ops) {}

  Result<Program> run() {
    size_t from = 0;
    while (from <= text_.size()) {
      size_t to = std::min(text_.find('\n', from), text_.size());
      ++line_number_;
      std::string_view s = text_.substr(from, to - from);
      from = to + 1;
      Line line(without_comment(s));
      if (line.end()) continue;
      HONE_TRY(statement(line));
      if (!line.end()) return fail(line, "unread text at the end of the line");
    }
    program_.renumber_producers();
    return std::move(program_);
  }

 private:
  Error fail(Line& line, std::string what) {
    return Error(err::kBadProgramText, std::move(what))
        .at(fmt::format("{}:{}:{}", file_, line_number_, line.column()));
  }

  template <class T>
  Result<T> placed(Line& line, Result<T> r) {
    if (!r) r.error().at(fmt::format("{}:{}:{}", file_, line_number_, line.column()));
    return r;
  }

  // %12 of the text -> ValueId
  Result<ValueId> value(Line& line) {
    int64_t n = 0;
    if (!line.take("%") || !line.integer(n)) return fail(line, "a value such as %3 is expected");
    auto it = ids_.find(n);
    if (it == ids_.end()) return fail(line, fmt::format("%{} is not defined", n));
    return it->second;
  }

  Result<Type> type(Line& line) {
    Type t;
    t.dtype = HONE_TRY(placed(line, dtype_named(line.word())));
    if (!line.integers(t.shape)) return fail(line, "a shape such as [8,512] is expected");
    for (int64_t d : t.shape)
      if (d < 0) return fail(line, "a dimension is negative");
    return t;
  }

  Result<Attrs> attrs(Line& line) {
    Attrs a;
    if (!line.take("{")) return a;
    if (line.take("}")) return a;
    do {
      std::string name = line.word();
      Attr value;
      if (name.empty() || !line.take("=") || !line.attr(value))
        return fail(line, "an attribute such as eps=1e-05 is expected");
      a.set(name, std::move(value));
    } while (line.take(","));
    if (!line.take("}")) return fail(line, "'}' is expected");
    return a;
  }

  // %7 : f32[2] -> number and type, not yet defined
  Result<std::pair<int64_t, Type>> typed(Line& line) {
    int64_t n = 0;
    if (!line.take("%") || !line.integer(n)) return fail(line, "a value such as %3 is expected");
    if (!line.take(":")) return fail(line, "':' and a type are expected");
    Type t = HONE_TRY(type(line));
    return std::pair{n, std::move(t)};
  }

  Result<ValueId> define(Line& line, int64_t n, Type t, Space space = Space::device) {
    if (ids_.contains(n)) return fail(line, fmt::format("%{} is defined twice", n));
    const ValueId v = ids_[n] = program_.new_value(std::move(t));
    program_.values.back().space = space;
    return v;
  }

  Status state_attrs(Line& line, const Attrs& a) {
    static const std::map<std::string, Attr, std::less<>> kTypes{{"role", std::string()},
                                                                 {"home", std::string()},
                                                                 {"trainable", false},
                                                                 {"shard_of", std::string()},
                                                                 {"rows", Shape{}}};
    for (const auto& [key, v] : a.all()) {
      const auto known = kTypes.find(key);
      if (known == kTypes.end()) return fail(line, fmt::format("a state has no '{}'", key));
      if (v.index() != known->second.index())
        return fail(line, fmt::format("'{}' of a state has another type", key));
    }
    return Ok{};
  }

  Status statement(Line& line) {
    if (line.take("program ")) {
      program_.name = line.word();
      return Ok{};
    }
    if (line.take("scope ")) {
      if (!line.text(scope_)) return fail(line, "a quoted scope name is expected");
      return Ok{};
    }
    if (line.take("phase ")) {
      phase_ = HONE_TRY(placed(line, phase_named(line.word())));
      return Ok{};
    }
    if (line.take("input ")) {
      std::string name;
      if (!line.text(name)) return fail(line, "a quoted name is expected");
      auto [n, t] = HONE_TRY(typed(line));
      ValueId v = HONE_TRY(define(line, n, t));
      program_.inputs.push_back({name, v});
      return Ok{};
    }
    if (line.take("state ")) {
      State s;
      if (!line.text(s.name)) return fail(line, "a quoted name is expected");
      auto [n, t] = HONE_TRY(typed(line));
      Attrs a = HONE_TRY(attrs(line));
      HONE_TRY(state_attrs(line, a));
      s.home = HONE_TRY(placed(line, space_named(a.text("home", "device"))));
      s.value = HONE_TRY(define(line, n, t, s.home));
      s.role = HONE_TRY(placed(line, role_named(a.text("role", "param"))));
      s.trainable = a.flag("trainable");
      if (a.has("shard_of")) {
        const std::vector<int64_t> rows = a.integers("rows");
        if (rows.size() != 2 && rows.size() != 4)
          return fail(line, "rows=[first, rows of the tensor] is expected");
        s.shard = {a.text("shard_of"), rows[0], rows[1]};
        if (rows.size() == 4) s.shard.held = {rows[2], rows[3]};
      }
      program_.states.push_back(std::move(s));
      return Ok{};
    }
    if (line.take("next ")) {
      ValueId old_version = HONE_TRY(value(line));
      if (!line.take("=")) return fail(line, "'=' is expected");
      ValueId next = HONE_TRY(value(line));
      State* s = program_.state_of(old_version);
      if (!s) return fail(line, "the left side is not a state");
      s->next = next;
      return Ok{};
    }
    if (line.take("output ")) {
      std::string name;
      if (!line.text(name) || !line.take("="))
        return fail(line, "output \"name\" = %value is expected");
      ValueId v = HONE_TRY(value(line));
      program_.outputs.push_back({name, v});
      return Ok{};
    }
    return node(line);
  }

  Status node(Line& line) {
    std::vector<std::pair<int64_t, Type>> results;
    do {
      results.push_back(HONE_TRY(typed(line)));
    } while (line.take(","));
    if (!line.take("=")) return fail(line, "'=' is expected");
    std::string name = line.word();
    const Op* op = program_.ops().find(name);
    if (!op) {
      std::vector<std::string> known;
      for (const Op* o : program_.ops().all()) known.push_back(o->name);
      std::string near = nearest_name(name, known);
      Error e = fail(line, fmt::format("no op is named '{}'", name));
      if (!near.empty()) e.todo(fmt::format("did you mean '{}'?", near));
      return e;
    }
    Node n{op, {}, {}, {}, scope_, phase_};
    if (!line.take("(")) return fail(line, "'(' is expected");
    if (!line.take(")")) {
      do {
        n.in.push_back(line.take("_") ? kNoValue : HONE_TRY(value(line)));
      } while (line.take(","));
      if (!line.take(")")) return fail(line, "')' is expected");
    }
    n.attrs = HONE_TRY(attrs(line));
    if (line.take("lane ")) n.lane = HONE_TRY(placed(line, lane_named(line.word())));
    n.clone = line.take("clone");
    if (is_begun(n) || op->waits) HONE_TRY(placed(line, check_node({program_, n})));
    for (auto& [number, t] : results)
      n.out.push_back(HONE_TRY(define(line, number, t, Space::device)));
    for (size_t k = 0; k < n.out.size(); ++k)
      program_.values[static_cast<size_t>(n.out[k])].space = result_space({program_, n}, k);
    program_.nodes.push_back(std::move(n));
    return Ok{};
  }

  std::string_view text_;
  std::string file_;
  Program program_;
  std::string scope_;
  Phase phase_ = Phase::forward;
  std::map<int64_t, ValueId> ids_;
  size_t line_number_ = 0;
};

}  // namespace

std::string print(const Program& p) {
  std::string s = fmt::format("program {}\n", p.name);
  auto typed = [&](ValueId v) { return fmt::format("%{} : {}", v, p.type(v).text()); };
  auto braces = [](const std::vector<std::string>& parts) {
    return parts.empty() ? std::string() : fmt::format(" {{{}}}", join(parts, ", "));
  };
  for (const Named& n : p.inputs) s += fmt::format("input {} {}\n", quoted(n.name), typed(n.value));
  for (const State& st : p.states) {
    std::vector<std::string> parts{fmt::format("role={}", quoted(name_of(st.role)))};
    if (st.trainable) parts.push_back("trainable=true");
    if (st.home != Space::device) parts.push_back(fmt::format("home={}", quoted(name_of(st.home))));
    if (!st.shard.whole())
      parts.push_back(fmt::format(
          "shard_of={}, rows=[{},{}{}]", quoted(st.shard.tensor), st.shard.begin, st.shard.rows,
          st.shard.held.count() > 0 ? fmt::format(",{},{}", st.shard.held.begin, st.shard.held.end)
                                    : ""));
    s += fmt::format("state {} {}{}\n", quoted(st.name), typed(st.value), braces(parts));
  }
  std::string scope;
  Phase phase = Phase::forward;
  for (const Node& n : p.nodes) {
    if (n.phase != phase) {
      phase = n.phase;
      s += fmt::format("phase {}\n", name_of(phase));
    }
    if (n.scope != scope) {
      scope = n.scope;
      s += fmt::format("scope {}\n", quoted(scope));
    }
    std::vector<std::string> outs, ins, attrs;
    for (ValueId v : n.out) outs.push_back(typed(v));
    for (ValueId v : n.in) ins.push_back(value_text(v));
    for (const auto& [name, a] : n.attrs.all()) attrs.push_back(name + "=" + attr_text(a));
    const std::string lane =
        n.lane == Lane::compute ? "" : fmt::format(" lane {}", name_of(n.lane));
    s += fmt::format("  {} = {}({}){}{}{}\n", join(outs, ", "), n.op->name, join(ins, ", "),
                     braces(attrs), lane, n.clone ? " clone" : "");
  }
  for (const State& st : p.states)
    if (st.next != kNoValue) s += fmt::format("next %{} = %{}\n", st.value, st.next);
  for (const Named& n : p.outputs) s += fmt::format("output {} = %{}\n", quoted(n.name), n.value);
  return s;
}

Result<Program> parse_program(std::string_view text, const OpTable& ops, const std::string& file) {
  return Parser(text, ops, file).run();
}

}  // namespace hone
