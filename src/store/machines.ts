import type { Database } from 'better-sqlite3';
import { ensureMachine } from './projects.js';

/** The host name that a machine had last, by its row id. */
export function machineName(db: Database, machine: number): string {
  return db.prepare<[number], string>('SELECT name FROM machine WHERE id = ?').pluck().get(machine) ?? 'localhost';
}

/** Row id of a machine that is known by nothing but the name that a person gave it. */
export function namedMachine(db: Database, name: string): number {
  return ensureMachine(db, { machineId: `named:${name}`, name });
}
