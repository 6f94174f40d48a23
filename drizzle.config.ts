// Only for `npm run db:generate`: what a migration does to a database is decided in src/store/migrate.ts.
export default { dialect: 'postgresql', schema: './src/store/schema', out: './drizzle', casing: 'snake_case' };
