#include "engine/device/cases.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/core/philox.h"
#include "engine/graph/errors.h"
#include "engine/graph/text.h"

namespace hone {
namespace {

// Types and attributes are read by the program parser, so that both formats stay one.
Result<Type> read_type(const std::string& text, const OpTable& ops) {
  Program p = HONE_TRY(parse_program(fmt::format("input \"x\" %0 : {}\n", text), ops));
  return p.type(p.inputs[0].value);
}
Result<Attrs> read_attrs(const std::string& text, const OpTable& ops) {
  Program p = HONE_TRY(parse_program(fmt::format("%0 : f32[] = constant() {}\n", text), ops));
  return p.nodes[0].attrs;
}

class Reader {
 public:
  Reader(const OpTable& ops, const std::string& file) : ops_(ops), file_(file) {}

  Status line(const std::string& text) {
    std::istringstream words(text.substr(0, text.find('#')));
    std::string word;
    if (!(words >> word)) return Ok{};
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (word == "op") {
      if (!ops_.find(rest)) return say(fmt::format("no op is named '{}'", rest));
      now_ = OpCase{};
      now_.op = rest;
    } else if (word == "tolerance") {
      now_.tolerance = HONE_TRY(numbers(rest + " 0"))[0];
    } else if (word == "gradient") {
      now_.gradient = rest == "off" ? 0 : HONE_TRY(numbers(rest + " 0"))[0];
    } else if (word == "fixed") {
      now_.fixed.clear();
      for (double x : HONE_TRY(numbers(rest))) now_.fixed.push_back(static_cast<int64_t>(x));
    } else if (word == "case") {
      if (now_.op.empty()) return say("a case comes before its op");
      OpCase c = now_;
      c.place = fmt::format("{}:{}", file_, number);
      c.attrs = HONE_TRY(read_attrs(rest.empty() ? "{}" : rest, ops_));
      cases.push_back(std::move(c));
    } else {
      return operand(word, rest);
    }
    return Ok{};
  }

  std::vector<OpCase> cases;
  int number = 0;

 private:
  Error say(std::string what) const {
    return Error(err::kBadProgramText, std::move(what)).at(fmt::format("{}:{}", file_, number));
  }

  Result<std::vector<double>> numbers(const std::string& text) const {
    std::istringstream words(text);
    std::vector<double> list;
    for (std::string word; words >> word;) {  // strtod reads -inf, which streams do not
      char* end = nullptr;
      list.push_back(std::strtod(word.c_str(), &end));
      if (*end) return say(fmt::format("'{}' is not a number", word));
    }
    return list;
  }

  Status operand(const std::string& word, const std::string& rest) {
    if (cases.empty()) return say(fmt::format("'{}' comes before a case", word));
    CaseInput in;
    in.absent = word == "_";
    if (!in.absent) {
      Result<Type> type = read_type(word, ops_);
      if (!type) return say(type.error().what());
      in.type = *type;
      std::istringstream words(rest);
      words >> in.kind;
      std::string arguments;
      std::getline(words, arguments);
      in.numbers = HONE_TRY(numbers(arguments));
      const std::map<std::string, size_t> known{
          {"normal", 0}, {"uniform", 2},  {"ids", 1},  {"labels", 1}, {"list", 0},
          {"count", 0},  {"distinct", 1}, {"bits", 0}, {"blocks", 2}, {"powers", 1}};
      auto it = known.find(in.kind);
      if (it == known.end()) in.op = ops_.find(in.kind);
      if (it == known.end() && !in.op)
        return say(fmt::format("'{}' is not a way to make values", in.kind));
      const size_t least = in.op ? 1 : it->second;
      if (in.numbers.size() < least) return say(fmt::format("{} needs {} numbers", in.kind, least));
      if (in.op &&
          !(in.numbers[0] >= 0 && in.numbers[0] < static_cast<double>(cases.back().inputs.size())))
        return say(fmt::format("{} needs the number of an earlier operand", in.kind));
      if (in.kind == "list" && static_cast<int64_t>(in.numbers.size()) != in.type.count())
        return say(fmt::format("{} numbers for {}", in.numbers.size(), in.type.text()));
    }
    cases.back().inputs.push_back(std::move(in));
    return Ok{};
  }

  const OpTable& ops_;
  std::string file_;
  OpCase now_;
};

}  // namespace

Result<std::vector<OpCase>> parse_cases(std::string_view text, const OpTable& ops,
                                        const std::string& file) {
  Reader reader(ops, file);
  std::istringstream in{std::string(text)};
  for (std::string s; std::getline(in, s);) {
    ++reader.number;
    HONE_TRY(reader.line(s));
  }
  return std::move(reader.cases);
}

Result<std::vector<OpCase>> read_cases(const std::string& folder, const OpTable& ops) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  if (files.empty())
    return Error(err::kBadProgramText, fmt::format("no *.case file in '{}'", folder));
  std::sort(files.begin(), files.end());
  std::vector<OpCase> all;
  for (const auto& path : files) {
    std::ifstream in(path);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::vector<OpCase> cases = HONE_TRY(parse_cases(text, ops, path.filename().string()));
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

Tensor make_operand(const CaseInput& in, uint64_t seed) {
  PhiloxStream random({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  std::vector<double> v(static_cast<size_t>(in.type.count()));
  auto number = [&](size_t i, double otherwise) {
    return i < in.numbers.size() ? in.numbers[i] : otherwise;
  };
  auto below = [&](double n) { return std::floor(random.next_uniform() * n); };
  std::vector<double> deck;
  for (size_t i = 0; i < v.size(); ++i) {
    if (in.kind == "normal")
      v[i] = random.next_normal() * number(0, 1);
    else if (in.kind == "uniform")
      v[i] = number(0, 0) + random.next_uniform() * (number(1, 1) - number(0, 0));
    else if (in.kind == "ids")
      v[i] = below(number(0, 1));
    else if (in.kind == "labels")
      v[i] = random.next_uniform() < 0.25 ? -100 : below(number(0, 1));
    else if (in.kind == "list")
      v[i] = in.numbers[i];
    else if (in.kind == "count")
      v[i] = static_cast<double>(i) * number(0, 1);
    else if (in.kind == "bits")
      v[i] = below(2);
    else if (in.kind == "powers" && i % static_cast<size_t>(number(0, 1)) == 0)
      v[i] = 120 + below(12);  // the exponent of a block, of a scale near 1
    else if (in.kind == "blocks" || in.kind == "powers")
      v[i] = below(256);
    else {  // distinct: without repeats, by drawing from a deck
      if (deck.empty())
        for (double x = 0; x < number(0, 0); ++x) deck.push_back(x);
      HONE_BUG_IF(deck.size() < v.size() - i, "distinct {} for {} values", number(0, 0), v.size());
      auto at = deck.begin() + static_cast<std::ptrdiff_t>(below(static_cast<double>(deck.size())));
      v[i] = *at;
      deck.erase(at);
    }
  }
  // The high bytes of numbers in f16, of moderate size.
  for (size_t i = 0; in.kind == "blocks" && i < v.size(); ++i)
    for (size_t k = 1; k < in.numbers.size(); ++k)
      if (std::fmod(static_cast<double>(i), number(0, 1)) == number(k, 0) + 1)
        v[i] = 128 * below(2) + 32 + below(16);
  return Tensor::of(in.type, v);
}

Tensors make_operands(const OpCase& c) {
  Tensors t;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (!c.inputs[i].absent && !c.inputs[i].op)
      t[std::to_string(i)] =
          make_operand(c.inputs[i], scope_hash(c.op) + 1000003 * i + c.inputs.size());
  return t;
}

}  // namespace hone
