// JSON documents as a language: those that a JSON schema (draft 2020-12) allows, or all objects.
//   HONE_TRY(schema_automaton(schema))     // then TokenMasks (token_masks.h) keeps a model to it
// Every text of the automaton is a valid document, but not every valid document is a text:
//   - members of an object are in the order of `properties`; further ones (`additionalProperties`)
//     come after them, and only if the schema asks for them, or has no `properties` at all
//   - items after `prefixItems` come only if the schema has `items`
//   - between parts there is at most one space, or a line break with at most 20 spaces or tabs
//   - numbers have at most 15 digits before the point, 15 after it, and 2 in the exponent
//   - a value without a schema is nested at most 16 deep
// So a text can always end, and what has no bound (strings, lists, maps, $ref) ends by itself.
#pragma once

#include <memory>

#include "base/core/json.h"
#include "learn/grammar/automaton.h"

namespace hone {

// H2511: a key is not supported, with its place ("#/properties/age"); H2512: the schema is wrong, or
// no document is valid.
Result<std::shared_ptr<const Automaton>> schema_automaton(const OrderedJson& schema);
// All objects.
std::shared_ptr<const Automaton> object_automaton();

}  // namespace hone
