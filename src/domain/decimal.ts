/** A decimal in canonical form. See `parseDecimal`. */
export type Decimal = string;
