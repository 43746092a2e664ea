// Makes an Automaton of a JSON schema: each part becomes a rule (json_schema.h has the contract).
//   schema_compiler.cc   what a part is: references, choices, types
//   schema_objects.cc    objects          schema_arrays.cc    arrays
//   schema_scalars.cc    strings, numbers
#pragma once

#include <memory>
#include <unordered_map>

#include "learn/grammar/characters.h"
#include "learn/grammar/schema_keys.h"

namespace hone {

class SchemaCompiler {
 public:
  SchemaCompiler() : automaton_(std::make_shared<Automaton>()), rules_(*automaton_) {}
  // H2511, H2512.
  Result<std::shared_ptr<const Automaton>> compile(const OrderedJson& schema);
  std::shared_ptr<const Automaton> any_object();

 private:
  static constexpr int kDeepestValue = 16;  // nesting of a value without a schema

  // A way through a rule: from its start to its end.
  struct Way {
    int32_t from, to;
  };

  // The rule of a part, which is compiled later: parts may refer to each other.
  int32_t rule_of(const SchemaPart& part);
  Status compile_part(Way way, const SchemaPart& part);
  Status compile_type(Way way, const SchemaPart& part, const std::string& type);
  Result<SchemaPart> referred(const SchemaPart& part);
  // The member of an object, null if there is none; found by an index, as $defs may be large.
  const OrderedJson* member_of(const OrderedJson& object, const std::string& key);
  Status add_choices(Way way, const SchemaPart& part, const char* key);
  Status add_values(Way way, const SchemaPart& part);
  Status check_disjoint(const SchemaPart& part);

  // Values without a schema, nested at most `depth` deep.
  int32_t any_value(int depth);
  int32_t any_object_rule(int depth);
  int32_t any_array_rule(int depth);

  struct Member {
    std::string name;
    int32_t rule;  // name and value
    bool required;
  };
  Status add_object(Way way, const SchemaPart& part);
  Result<std::vector<Member>> members_of(const SchemaPart& part, int32_t others);
  int32_t member_rule(const std::string& name, int32_t value);
  int32_t other_member(const std::vector<Member>& members, int32_t value);
  void add_members(Way way, const std::vector<Member>& members, int32_t other);

  Status add_array(Way way, const SchemaPart& part);
  Status add_items(Way way, const std::vector<int32_t>& first, int32_t rest, int64_t least,
                   int64_t most);

  Status add_string(Way way, const SchemaPart& part);
  Status add_length(Way way, int64_t least, int64_t most);
  Status add_number(Way way, const SchemaPart& part, bool whole);

  Error too_large() const;

  SchemaPart root_{};
  std::shared_ptr<Automaton> automaton_;
  StringRules rules_;
  std::unordered_map<const OrderedJson*, int32_t> known_;
  std::unordered_map<const OrderedJson*, std::unordered_map<std::string, const OrderedJson*>>
      indexes_;  // by object, of its members
  std::vector<std::pair<int32_t, SchemaPart>> pending_;
  std::unordered_map<int, int32_t> values_, objects_, arrays_;  // by depth
};

}  // namespace hone
