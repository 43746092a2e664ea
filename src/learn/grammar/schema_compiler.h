// Compiles a JSON schema to an Automaton; json_schema.h has the contract. Each part of the schema becomes a rule.
//   schema_compiler.cc   references, choices, types
//   schema_objects.cc    objects
//   schema_arrays.cc     arrays
//   schema_scalars.cc    strings and numbers
#pragma once

#include <memory>
#include <unordered_map>

#include "learn/grammar/characters.h"
#include "learn/grammar/schema_keys.h"

namespace hone {

class SchemaCompiler {
 public:
  SchemaCompiler() : automaton_(std::make_shared<Automaton>()), rules_(*automaton_) {}
  // Call only one of these two functions, and only once. compile() returns the automaton of a schema, with the errors
  // H2511 and H2512 of schema_automaton. any_object() returns the automaton of all objects.
  Result<std::shared_ptr<const Automaton>> compile(const OrderedJson& schema);
  std::shared_ptr<const Automaton> any_object();

 private:
  // The largest number of levels of nesting in a value without a schema.
  static constexpr int kDeepestValue = 16;

  // The start and end state of a rule. Functions that take a Way add a part of the schema between these states.
  struct Way {
    int32_t from, to;
  };

  // The rule of a part. The part itself is compiled later, since parts may refer to each other.
  int32_t rule_of(const SchemaPart& part);
  Status compile_part(Way way, const SchemaPart& part);
  Status compile_type(Way way, const SchemaPart& part, const std::string& type);
  Result<SchemaPart> referred(const SchemaPart& part);
  // A member of an object; null if there is none. Uses an index, since $defs may be large.
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
    int32_t rule;  // the rule for name and value
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
      indexes_;  // for each object an index of its members
  std::vector<std::pair<int32_t, SchemaPart>> pending_;
  std::unordered_map<int, int32_t> values_, objects_, arrays_;  // by depth
};

}  // namespace hone
