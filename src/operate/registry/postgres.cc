// PostgreSQL, by libpq: a registry that several machines share.
#include <libpq-fe.h>

#include <cstdlib>

#include "base/core/redact.h"
#include "operate/registry/database.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

// Types of columns by their numbers in pg_type.
constexpr Oid kInt8 = 20, kInt4 = 23, kFloat8 = 701;
// One writer at a time, as with SQLite: the advisory lock of this number ("hone").
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(1752131173)";
// https://www.postgresql.org/docs/current/errcodes-appendix.html
constexpr std::string_view kLockNotAvailable = "55P03", kQueryCanceled = "57014";

class Postgres final : public Database {
 public:
  explicit Postgres(const std::string& address)
      : Database(redact_address(address)), address_(address) {}
  ~Postgres() override { PQfinish(connection_); }

  Status connect() {
    // Values of the address come last and win.
    const char* const keys[] = {"connect_timeout", "application_name", "dbname", nullptr};
    const char* const values[] = {"10", "hone", address_.c_str(), nullptr};
    connection_ = PQconnectdbParams(keys, values, 1);
    if (PQstatus(connection_) == CONNECTION_OK) return Ok{};
    return failed("", PQerrorMessage(connection_));
  }

  Result<bool> has_table(const std::string& name) override {
    return !HONE_TRY(run("SELECT 1 FROM information_schema.tables WHERE table_schema = "
                         "ANY(current_schemas(false)) AND table_name = ?",
                         {name}))
                .empty();
  }

 private:
  using Answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

  Result<std::vector<SqlValues>> execute(std::string_view sql, const SqlValues& values) override {
    std::string numbered;
    size_t number = 0;
    for (const char c : sql)
      numbered += c == '?' ? fmt::format("${}", ++number) : std::string(1, c);
    HONE_BUG_IF(number != values.size(), "{} values for: {}", values.size(), sql);
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
    for (const SqlValue& value : values) texts.push_back(sql_text(value));
    for (size_t i = 0; i < values.size(); ++i)
      pointers.push_back(std::holds_alternative<std::monostate>(values[i]) ? nullptr
                                                                           : texts[i].c_str());
    const Answer answer(PQexecParams(connection_, numbered.c_str(), static_cast<int>(values.size()),
                                     nullptr, pointers.data(), nullptr, nullptr, 0),
                        PQclear);
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      const char* code = PQresultErrorField(answer.get(), PG_DIAG_SQLSTATE);
      return failed(code ? code : "", PQerrorMessage(connection_));
    }
    std::vector<SqlValues> rows;
    for (int r = 0; r < PQntuples(answer.get()); ++r) {
      SqlValues row;
      for (int c = 0; c < PQnfields(answer.get()); ++c) row.push_back(column(answer.get(), r, c));
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Status begin(bool writes) override {
    if (PQstatus(connection_) != CONNECTION_OK)
      PQreset(connection_);  // the server was started again
    if (!writes) return done(execute("BEGIN ISOLATION LEVEL REPEATABLE READ", {}));
    HONE_TRY(execute("BEGIN", {}));
    Status locked = done(
        execute(fmt::format("SET LOCAL lock_timeout = '{:.0f}s'", registry_timeout_seconds()), {}));
    if (locked.ok()) locked = done(execute(kLock, {}));
    if (!locked.ok()) (void)execute("ROLLBACK", {});
    return locked;
  }

  static Status done(Result<std::vector<SqlValues>> rows) {
    if (rows.ok()) return Ok{};
    return std::move(rows.error());
  }

  static SqlValue column(const PGresult* answer, int row, int c) {
    if (PQgetisnull(answer, row, c)) return std::monostate{};
    const char* text = PQgetvalue(answer, row, c);
    const Oid type = PQftype(answer, c);
    if (type == kInt8 || type == kInt4) return int64_t{std::strtoll(text, nullptr, 10)};
    if (type == kFloat8) return std::strtod(text, nullptr);
    return std::string(text, static_cast<size_t>(PQgetlength(answer, row, c)));
  }

  Error failed(std::string_view code, std::string why) const {
    if (code == kLockNotAvailable || code == kQueryCanceled)
      return Error(err::kRegistryLocked,
                   fmt::format("another program has kept the registry locked for {} s",
                               registry_timeout_seconds()))
          .at(shown())
          .todo(
              "end that program (pg_stat_activity names it), or wait longer with "
              "HONE_REGISTRY_TIMEOUT=seconds");
    for (char& c : why)
      if (c == '\n') c = ' ';
    return Error(err::kRegistryFailed, fmt::format("the registry says: {}", redact_text(why)))
        .at(shown())
        .todo(
            "check that the server runs and that this account may use the database: psql with the "
            "same address");
  }

  std::string address_;
  PGconn* connection_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Database>> open_postgres(const std::string& address) {
  auto database = std::make_unique<Postgres>(address);
  HONE_TRY(database->connect());
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace hone
