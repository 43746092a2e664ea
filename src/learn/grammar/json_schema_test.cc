// Schemas of every kind, made at random, and random choices of the tokens that they allow: each text
// is a valid document, by a validator that knows nothing of the automaton.
#include "learn/grammar/json_schema.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "base/core/whole_test.h"
#include "base/unicode/unicode.h"
#include "learn/grammar/errors.h"
#include "learn/grammar/token_masks.h"

namespace hone {
namespace {

OrderedJson json_of(const std::string& text) { return parse_ordered_json(text, "test").value(); }

int64_t chars_of(const std::string& text) {
  int64_t n = 0;
  for (const char c : text) n += (c & 0xC0) != 0x80;
  return n;
}

// The keys of schema_keys.cc, in the plainest way.
class Validator {
 public:
  explicit Validator(const OrderedJson& root) : root_(root) {}
  bool valid(const OrderedJson& s, const OrderedJson& v) const {
    if (s.is_boolean()) return s.get<bool>();
    if (s.contains("$ref")) return valid(referred(s["$ref"].get<std::string>()), v);
    for (const auto& [key, arg] : s.items())
      if (!keeps(key, arg, s, v)) return false;
    return true;
  }

 private:
  const OrderedJson& referred(const std::string& ref) const {
    return ref == "#" ? root_ : root_["$defs"][ref.substr(8)];
  }
  static bool is_type(const std::string& t, const OrderedJson& v) {
    if (t == "integer") return v.is_number() && v.get<double>() == std::floor(v.get<double>());
    if (t == "number") return v.is_number();
    return t == v.type_name();
  }
  size_t count(const OrderedJson& list, const OrderedJson& v) const {
    size_t n = 0;
    for (const OrderedJson& s : list) n += valid(s, v);
    return n;
  }
  bool keeps(const std::string& key, const OrderedJson& arg, const OrderedJson& s,
             const OrderedJson& v) const {
    if (key == "type" && arg.is_string()) return is_type(arg, v);
    if (key == "type")
      return std::any_of(arg.begin(), arg.end(), [&](const auto& t) { return is_type(t, v); });
    if (key == "const") return v == arg;
    if (key == "enum") return std::find(arg.begin(), arg.end(), v) != arg.end();
    if (key == "anyOf") return count(arg, v) > 0;
    if (key == "oneOf") return count(arg, v) == 1;
    if (key == "allOf") return count(arg, v) == arg.size();
    if (v.is_object()) return keeps_object(key, arg, s, v);
    if (v.is_array()) return keeps_array(key, arg, s, v);
    if (v.is_string()) return keeps_text(key, arg, v.get<std::string>());
    if (!v.is_number()) return true;
    const double x = v.get<double>();
    if (key == "minimum") return x >= arg.get<double>();
    if (key == "maximum") return x <= arg.get<double>();
    if (key == "exclusiveMinimum") return x > arg.get<double>();
    return key != "exclusiveMaximum" || x < arg.get<double>();
  }
  bool keeps_object(const std::string& key, const OrderedJson& arg, const OrderedJson& s,
                    const OrderedJson& v) const {
    if (key == "required")
      return std::all_of(arg.begin(), arg.end(),
                         [&](const auto& n) { return v.contains(n.template get<std::string>()); });
    for (const auto& [name, one] : v.items()) {
      const OrderedJson& own = value_at(s, "properties");
      const bool known = own.is_object() && own.contains(name);
      if (key == "properties" && known && !valid(arg[name], one)) return false;
      if (key == "additionalProperties" && !known && !valid(arg, one)) return false;
    }
    return true;
  }
  bool keeps_array(const std::string& key, const OrderedJson& arg, const OrderedJson& s,
                   const OrderedJson& v) const {
    const size_t first = s.contains("prefixItems") ? s["prefixItems"].size() : 0;
    if (key == "minItems") return v.size() >= arg.get<size_t>();
    if (key == "maxItems") return v.size() <= arg.get<size_t>();
    for (size_t i = 0; i < v.size(); ++i) {
      if (key == "prefixItems" && i < first && !valid(arg[i], v[i])) return false;
      if (key == "items" && i >= first && !valid(arg, v[i])) return false;
    }
    return true;
  }
  static bool keeps_text(const std::string& key, const OrderedJson& arg, const std::string& v) {
    if (key == "minLength") return chars_of(v) >= arg.get<int64_t>();
    if (key == "maxLength") return chars_of(v) <= arg.get<int64_t>();
    return key != "pattern" || std::regex_search(ascii(v), std::regex(arg.get<std::string>()));
  }
  // One byte for each character, so that std::regex counts characters.
  static std::string ascii(const std::string& text) {
    std::string out;
    for (const char *p = text.data(), *end = p + text.size(); p < end;) {
      const Char c = decode_char(p, end);
      const bool space = (class_of(char_classes(), c.code) & kSpace) != 0;
      out += c.code < 0x80 ? *p : space ? ' ' : '#';
      p += c.length;
    }
    return out;
  }

  const OrderedJson& root_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  bool one_in(size_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

class RandomSchema {
 public:
  explicit RandomSchema(Random& r) : r_(r) {}
  OrderedJson make() {
    OrderedJson s = part(0);
    if (s.is_boolean() || s.contains("$ref")) {
      OrderedJson choice;
      choice["anyOf"] = OrderedJson::array({s});
      s = choice;
    }
    s["$defs"] = {{"tree", json_of(R"({"type": "object", "properties": {"v": {"type": "integer"},
        "next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}}, "required": ["next"],
        "additionalProperties": false})")},
                  {"list", json_of(R"({"type": "array", "items": {"$ref": "#/$defs/list"}})")}};
    return s;
  }

 private:
  OrderedJson part(int depth) {
    switch (r_.below(depth < 3 ? 10 : 6)) {
      case 0:
        return text();
      case 1:
        return number();
      case 2:
        return {
            {"type", r_.one_in(2) ? OrderedJson("boolean") : json_of(R"(["null", "integer"])")}};
      case 3:
        return r_.one_in(2)
                   ? json_of(R"({"enum": ["a", "ab", 1, 12, null, true, [1, {"x": 2}], "é\n\""]})")
                   : json_of(R"({"const": {"k": ["v", 1.5]}})");
      case 4:
        return {{"$ref", r_.one_in(2) ? "#/$defs/tree" : "#/$defs/list"}};
      case 5:
        return r_.one_in(2) ? OrderedJson::object() : OrderedJson(true);
      case 6:
        return {{"anyOf", {part(depth + 1), part(depth + 1)}}};
      case 7:
        return json_of(
            R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "x"}, "n": {"type":
            "integer"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"enum": ["y", "z"]}},
            "required": ["kind"]}, {"type": "string", "maxLength": 3}]})");
      case 8:
        return array(depth);
      default:
        return object(depth);
    }
  }
  OrderedJson text() {
    constexpr const char* kPatterns[] = {
        "^[a-z]+$",        "^(foo|ba[rz]){1,3}$", "a.c",
        "^\\d{3}-\\d{4}$", "^\\w+@\\w+\\.com$",   "^[^a-z\"]{2,5}$|^x",
        "^\\S(\\s\\S)*?$", "^(?:a|b?)+\\\\$"};
    OrderedJson s{{"type", "string"}};
    if (r_.one_in(3)) s["pattern"] = kPatterns[r_.below(std::size(kPatterns))];
    if (s.contains("pattern") || r_.one_in(3)) return s;
    const size_t least = r_.below(4);
    if (r_.one_in(2)) s["minLength"] = least;
    if (r_.one_in(2)) s["maxLength"] = least + r_.below(5);
    return s;
  }
  OrderedJson number() {
    OrderedJson s{{"type", r_.one_in(2) ? "integer" : "number"}};
    if (r_.one_in(3)) return s;
    const int64_t least = static_cast<int64_t>(r_.below(300)) - 150;
    if (!r_.one_in(3)) s[r_.one_in(2) ? "minimum" : "exclusiveMinimum"] = least;
    const auto most = least + 2 + static_cast<int64_t>(r_.below(2000));
    if (!r_.one_in(3)) s[r_.one_in(2) ? "maximum" : "exclusiveMaximum"] = most;
    return s;
  }
  OrderedJson array(int depth) {
    OrderedJson s{{"type", "array"}};
    const size_t least = r_.below(3);
    if (!r_.one_in(3)) s["items"] = part(depth + 1);
    if (r_.one_in(2)) s["minItems"] = least;
    if (r_.one_in(2)) s["maxItems"] = least + r_.below(3);
    if (r_.one_in(3)) s["prefixItems"] = OrderedJson::array({part(depth + 1), part(depth + 1)});
    return s;
  }
  OrderedJson object(int depth) {
    constexpr const char* kNames[] = {"a", "ab", "b", "name", "é", "q\"", ""};
    OrderedJson s{{"type", "object"}, {"properties", OrderedJson::object()}};
    OrderedJson required = OrderedJson::array();
    for (const char* name : kNames) {
      if (!r_.one_in(3)) continue;
      s["properties"][name] = part(depth + 1);
      if (r_.one_in(2)) required.push_back(name);
    }
    if (!required.empty()) s["required"] = required;
    if (r_.one_in(3))
      s["additionalProperties"] = false;
    else if (r_.one_in(2))
      s["additionalProperties"] = part(depth + 1);
    return s;
  }

  Random& r_;
};

// All bytes, and pieces that go over the borders of JSON's parts.
std::shared_ptr<const TokenTrie> test_trie() {
  static const std::shared_ptr<const TokenTrie> trie = [] {
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
    for (const char* piece :
         {"{\"",  "\":",   "\": ",     "\",",     "\", \"", "},",        "]",     "}}",   "[[",
          "[]",   "{}",    " {",       " [",      " \"",    ": ",        "true",  "fal",  "se",
          "null", " null", "12",       "345",     "0.",     ".5",        "e+",    "-1",   "\n  ",
          ",\n",  "a\"",   "ab",       "name",    "kind",   "\"kind\":", "x\"",   "foo",  "bar",
          "baz",  "é",     "\xC3",     "\xA9\"",  "日本",   "\\n",       "\\u00", "\\\"", "@b.com",
          "tree", "next",  "\"next\"", "\"v\": 1"})
      tokens.emplace_back(piece);
    tokens.emplace_back("");  // the end token
    return std::make_shared<const TokenTrie>(static_cast<int64_t>(tokens.size()), [&](int32_t id) {
      return std::string_view(tokens[static_cast<size_t>(id)]);
    });
  }();
  return trie;
}

// A document of random tokens; after 150 of them those that end it soon are preferred.
Result<std::string> random_document(const OrderedJson& schema, Random& r) {
  const auto trie = test_trie();
  const auto end = static_cast<int32_t>(trie->count() - 1);
  TokenMasks masks({HONE_TRY(schema_automaton(schema)), trie}, std::vector<int32_t>{end});
  TokenMasks::Place place = masks.begin();
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    if (Matcher::over(place)) return text;
    const auto bits = masks.allowed(place);
    EXPECT_FALSE(bits.empty()) << schema << " after " << text;
    if (bits.empty()) return text;
    std::vector<int32_t> all;
    for (int32_t t = 0; t <= end; ++t)
      if (TokenMasks::has(bits, t)) all.push_back(t);
    int32_t token = all[r.below(all.size())];
    if (i > 150) {  // closing ones first, but within texts letters of the patterns
      const std::string letters = "nul05ac@.omx-\\";
      const char helper = letters[r.below(letters.size())];
      if (TokenMasks::has(bits, helper) && !r.one_in(8)) token = helper;
      const bool in_text = TokenMasks::has(bits, '}') && TokenMasks::has(bits, ']');
      for (const char c : {'}', ']', '"'})
        if (TokenMasks::has(bits, c) && (c == '"' || !in_text)) token = c;
    }
    if (TokenMasks::has(bits, end) && (i > 150 || r.one_in(3))) return text;
    if (token == end) return text;
    EXPECT_TRUE(masks.advance(place, token));
    text += trie->bytes(token);
  }
  ADD_FAILURE() << "endless: " << schema << " after " << text;
  return text;
}

TEST(JsonSchema, RandomTokensOfRandomSchemasMakeValidDocuments) {
  const uint32_t schemas = tests_whole() ? 5000 : 200;
  uint32_t documents = 0, refused = 0;
  for (uint32_t seed = 0; seed < schemas; ++seed) {
    Random r(seed);
    const OrderedJson schema = RandomSchema(r).make();
    for (int i = 0; i < 3; ++i) {
      const Result<std::string> text = random_document(schema, r);
      if (!text.ok()) {  // items that exclude each other
        EXPECT_TRUE(text.error().is(err::kBadSchema)) << schema << text.error().text();
        ++refused;
        break;
      }
      OrderedJson value;
      JsonRules rules;
      rules.strict = true;
      const auto fault = parse_json(*text, rules, value);
      ASSERT_FALSE(fault) << schema << "\n" << *text << "\n" << fault->what;
      ASSERT_TRUE(Validator(schema).valid(schema, value)) << schema << "\n" << *text;
      ++documents;
    }
  }
  EXPECT_GT(documents, schemas * 27 / 10);
  EXPECT_LT(refused, schemas / 10);
}

bool allows(const std::string& schema, std::string_view text) {
  const auto automaton = schema_automaton(json_of(schema));
  EXPECT_TRUE(automaton.ok()) << schema << automaton.error().text();
  Matcher m(*automaton);
  int32_t at = m.state_of(m.begin());
  for (const char c : text)
    if (at != Matcher::kDead) at = m.next(at, static_cast<uint8_t>(c));
  return at != Matcher::kDead && Matcher::whole(m.ways(at));
}

TEST(JsonSchema, AllowsWhatTheSchemaSaysAndNothingElse) {
  const std::string person = R"({"type": "object", "properties": {"name": {"type": "string"}, "age":
      {"type": "integer", "minimum": 0, "maximum": 130}}, "required": ["name"], "additionalProperties": false})";
  for (const char* yes :
       {R"({"name": "x"})", R"({"name":"\u00e9\n","age":130})", "{\n  \"name\": \"é\"\n}"})
    EXPECT_TRUE(allows(person, yes)) << yes;
  for (const char* no :
       {R"({"age": 5})", R"({"name": "x", "age": 131})", R"({"name": "x", "age": -1})",
        R"({"name": "x", "b": 1})", R"({"name": "x", "age": 01})", R"({"name": "\ud800"})",
        "{\"name\": \"\n\"}", R"({"name": "x",})", "{}", R"({"name": "x"} )",
        "{\"name\":   \"x\"}"})
    EXPECT_FALSE(allows(person, no)) << no;
  EXPECT_TRUE(allows(R"({"type": "number", "minimum": 0, "maximum": 1})", "0.25"));
  EXPECT_TRUE(allows(R"({"type": "number", "minimum": 0, "maximum": 1})", "1"));
  EXPECT_FALSE(allows(R"({"type": "number", "minimum": 0, "maximum": 1})", "1.5"));
  EXPECT_TRUE(allows(R"({"type": "number", "exclusiveMinimum": 0})", "0.01"));
  EXPECT_FALSE(allows(R"({"type": "number", "exclusiveMinimum": 0})", "0.00"));
  EXPECT_TRUE(allows(R"({"type": "integer", "minimum": -205, "maximum": -17})", "-99"));
  EXPECT_FALSE(allows(R"({"type": "integer", "minimum": -205, "maximum": -17})", "-16"));
  EXPECT_TRUE(allows(R"({"type": "string", "format": "date-time"})", R"("2026-02-28T23:59:59Z")"));
  EXPECT_FALSE(allows(R"({"type": "string", "format": "date-time"})", R"("2026-02-30T23:59:59Z")"));
  EXPECT_TRUE(allows(R"({"type": "string", "format": "ipv4"})", R"("127.0.0.1")"));
  EXPECT_FALSE(allows(R"({"type": "string", "format": "ipv4"})", R"("127.0.0.256")"));
  EXPECT_TRUE(allows(R"({"pattern": "b+"})", R"("abc")"));  // anything around it
  EXPECT_FALSE(allows(R"({"pattern": "b+"})", R"("ac")"));
  // Both JavaScript and Python agree: é is a word character of one, U+FEFF a space of the other.
  for (const auto& [pattern, unsure] : {std::pair{"\\w", "é"},
                                        {"\\W", "é"},
                                        {"\\W", "٣"},
                                        {"\\d", "٣"},
                                        {"[^\\W]", "é"},
                                        {"\\s", "\uFEFF"},
                                        {"[^\\S]", "\uFEFF"},
                                        {"\\S", "\uFEFF"}})
    EXPECT_FALSE(allows(OrderedJson{{"pattern", std::string("^") + pattern + "$"}}.dump(),
                        std::string("\"") + unsure + "\""))
        << pattern << unsure;
  EXPECT_TRUE(allows(R"({"pattern": "^\\D\\S[^\\d]$"})", R"("éé-")"));
  // A further member cannot have the name of a property, also not as an escape.
  const std::string more =
      R"({"properties": {"ab": {"type": "null"}}, "additionalProperties": {"type": "integer"}})";
  EXPECT_TRUE(allows(more, R"({"ab": null, "a": 1, "abc": 2, "b\u0061": 3})"));
  for (const char* no :
       {R"({"ab": 1})", R"({"a\u0062": 1})", R"({"\u0061b": 1})", R"({"ab": null, "ab": 1})"})
    EXPECT_FALSE(allows(more, no)) << no;
  EXPECT_TRUE(allows("{}", R"({"a": [1, -2.5e3, {"b": [true, null]}]})"));
}

TEST(JsonSchema, ReferencesMayBeAChainOfThousands) {
  OrderedJson schema{{"$ref", "#/$defs/a0"}};
  constexpr int kLinks = 3000;
  for (int i = 0; i < kLinks; ++i)
    schema["$defs"][fmt::format("a{}", i)] = {{"$ref", fmt::format("#/$defs/a{}", i + 1)}};
  schema["$defs"][fmt::format("a{}", kLinks)] = {{"type", "null"}};
  EXPECT_TRUE(allows(schema.dump(), "null"));
  EXPECT_FALSE(allows(schema.dump(), "true"));
}

TEST(JsonSchema, RefusesByNameWhatItCannotKeepTo) {
  const auto fault = [](const std::string& schema) {
    const auto a = schema_automaton(json_of(schema));
    EXPECT_FALSE(a.ok()) << schema;
    return a.ok() ? std::string() : std::string(a.error().code()) + " " + a.error().text();
  };
  for (const auto& [schema, code, words] :
       {std::tuple{R"({"properties": {"a": {"type": "string", "minLenght": 1}}})",
                   err::kSchemaNotOffered, "minLenght"},
        {R"({"not": {}})", err::kSchemaNotOffered, "not"},
        {R"({"type": "array", "uniqueItems": true})", err::kSchemaNotOffered, "uniqueItems"},
        {R"({"type": "object", "patternProperties": {}})", err::kSchemaNotOffered,
         "patternProperties"},
        {R"({"type": "number", "multipleOf": 2})", err::kSchemaNotOffered, "multipleOf"},
        {R"({"type": "number", "minimum": 0.5})", err::kSchemaNotOffered, "minimum"},
        {R"({"format": "uri"})", err::kSchemaNotOffered, "uri"},
        {R"({"$ref": "http://a.example/b"})", err::kSchemaNotOffered, "a.example"},
        {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", err::kSchemaNotOffered,
         "oneOf"},
        {R"({"allOf": [{}, {}]})", err::kSchemaNotOffered, "allOf"},
        {R"({"anyOf": [{}], "type": "string"})", err::kSchemaNotOffered, "anyOf"},
        {R"({"pattern": "(?=a)b"})", err::kSchemaNotOffered, "pattern"},
        {R"({"pattern": "(a)\\1"})", err::kSchemaNotOffered, "pattern"},
        {R"({"pattern": "((a{4096}){4096}){4096}"})", err::kSchemaNotOffered, "repeats"},
        {R"({"type": "string", "maxLength": 1000000})", err::kSchemaNotOffered, "too large"},
        {R"({"pattern": "a("})", err::kBadSchema, "pattern"},
        {R"({"type": "text"})", err::kBadSchema, "text"},
        {R"({"$ref": "#/$defs/none"})", err::kBadSchema, "none"},
        {R"({"required": ["a"], "additionalProperties": false})", err::kBadSchema, "'a'"},
        {R"({"type": "integer", "minimum": 3, "maximum": 2})", err::kBadSchema, "no document"},
        {R"({"$ref": "#"})", err::kBadSchema, "no document"},
        {R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})", err::kBadSchema,
         "no document"},
        {R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", err::kBadSchema, "own whole value"}}) {
    const std::string said = fault(schema);
    EXPECT_TRUE(said.starts_with(code.id)) << schema << said;
    EXPECT_NE(said.find(words), std::string::npos) << schema << said;
  }
  EXPECT_NE(
      fault(R"({"properties": {"a/b": {"items": {"x": 1}}}})").find("#/properties/a~1b/items"),
      std::string::npos);
}

// Each text of 13 letters leads to another set of ways: the search ends, and says so.
TEST(TokenMasks, GiveUpWhereALanguageIsTooAmbiguous) {
  constexpr int64_t kTexts = 1 << 13;
  const OrderedJson schema{{"type", "string"}, {"pattern", "^(a|b)*a(a|b){13}$"}};
  std::vector<std::string> tokens;
  for (int i = 0; i < kTexts; ++i) {
    std::string token = "\"";
    for (int b = 0; b < 13; ++b) token += (i >> b & 1) != 0 ? 'a' : 'b';
    tokens.push_back(token);
  }
  const auto trie = std::make_shared<const TokenTrie>(
      kTexts, [&](int32_t id) { return std::string_view(tokens[static_cast<size_t>(id)]); });
  TokenMasks masks({schema_automaton(schema).value(), trie}, {});
  EXPECT_TRUE(masks.allowed(masks.begin()).empty());
}

TEST(TokenMasks, AllowTheEndWhereTheTextIsWhole) {
  const auto trie = test_trie();
  const auto end = static_cast<int32_t>(trie->count() - 1);
  TokenMasks masks({schema_automaton(json_of(R"({"type": "integer"})")).value(), trie},
                   std::vector<int32_t>{end});
  TokenMasks::Place place = masks.begin();
  EXPECT_FALSE(TokenMasks::has(masks.allowed(place), end));
  EXPECT_FALSE(masks.advance(place, 'x'));
  EXPECT_FALSE(masks.advance(place, end));
  EXPECT_TRUE(masks.advance(place, '1'));
  EXPECT_TRUE(TokenMasks::has(masks.allowed(place), end));
  EXPECT_TRUE(TokenMasks::has(masks.allowed(place), '2'));
  EXPECT_FALSE(Matcher::over(place));  // 12 could follow
}

}  // namespace
}  // namespace hone
