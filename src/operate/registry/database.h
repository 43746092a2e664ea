// The SQL layer of the registry: statements and transactions, the same for every kind of database.
//
//   auto db = HONE_TRY(Database::open("sqlite:///data/registry.db"));
//   HONE_TRY(db->write([&]() -> Status {
//     HONE_TRY(db->run("INSERT INTO models(name, created) VALUES(?, ?)", {"news", now}));
//     return Ok{};
//   }));
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/error.h"

namespace hone {

// std::monostate: NULL.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string>;
using SqlValues = std::vector<SqlValue>;
std::string sql_text(const SqlValue& value);  // the value as text; "" for NULL
int64_t sql_number(const SqlValue& value);    // the value if it is a whole number, else 0

// One connection to a database. Several threads may use it; transactions of other threads wait for the running one.
class Database {
 public:
  // `address`: sqlite:///relative.db, sqlite:////absolute.db, the path of an SQLite file, or
  // postgresql://user@host/name. Creates a missing file and its folder. Errors: H3131 the address has another form;
  // H3132 another program keeps the database locked; H3133 the database cannot be read or written.
  static Result<std::unique_ptr<Database>> open(const std::string& address);
  virtual ~Database() = default;

  // Runs one statement, with one of `values` for each '?'. Returns the rows of a SELECT, else an empty list. Errors:
  // H3132 another program keeps the lock for longer than registry_timeout_seconds(); H3133 everything else.
  Result<std::vector<SqlValues>> run(std::string_view sql, const SqlValues& values = {});

  // Run `body` in one transaction: either all its changes become visible, or none. write() holds the only write lock
  // from its beginning. read() sees one state of the database. A transaction inside another is part of the outer one.
  // Errors: those of run(), and those of `body`, which undo the transaction.
  Status write(const std::function<Status()>& body) { return transaction(body, true); }
  Status read(const std::function<Status()>& body) { return transaction(body, false); }

  virtual Result<bool> has_table(const std::string& name) = 0;

  const std::string& shown() const { return shown_; }  // the address without a password

 protected:
  explicit Database(std::string shown) : shown_(std::move(shown)) {}
  virtual Result<std::vector<SqlValues>> execute(std::string_view sql, const SqlValues& values) = 0;
  virtual Status begin(bool writes) = 0;

 private:
  Status transaction(const std::function<Status()>& body, bool writes);
  std::string shown_;
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

// Open a database of one kind, for Database::open. Errors: those of Database::open.
Result<std::unique_ptr<Database>> open_sqlite(const std::string& path);
Result<std::unique_ptr<Database>> open_postgres(const std::string& address);

// The seconds that a statement waits for another program's lock: the variable HONE_REGISTRY_TIMEOUT (default: 30).
double registry_timeout_seconds();

}  // namespace hone
